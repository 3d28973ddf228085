/* Counters of one process. Invariants:
 * 1. One event set a component of PAPI and thread, for PAPI runs no two of one component on a thread. An
 *    event that the machine lacks leaves its set, so that it takes no other with it; where the rest does not
 *    fit at once, they take turns (multiplexing).
 * 2. An event counts as known only when it could be started on every thread of the process.
 * 3. PAPI's context-switch event silently reads 0 in its default domain: that row has no event, and the
 *    system's account.
 * 4. Events run all the time from open on: begin and end only read them, and what reading itself counts is
 *    known and taken off. */
#include "harness/machine/counters.h"

#include <dirent.h>
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "harness/machine/counter_selection.h"

enum fallback { FALLBACK_NONE, FALLBACK_CPU_TIME, FALLBACK_PAGE_FAULTS, FALLBACK_SWITCHES, FALLBACK_COUNT };

static const struct {
  const char *name, *event, *help;
  enum fallback fallback;
} rows[] = {
#define TB_COUNTER(name, event, fallback, help) {name, event, help, FALLBACK_##fallback},
#include "harness/machine/counters.def"
#undef TB_COUNTER
};
enum { N_COUNTERS = sizeof rows / sizeof *rows, TASKS_FIRST = 64, COST_TRIALS = 5 };

struct account {
  double values[FALLBACK_COUNT];
};
struct reading {
  double values[N_COUNTERS];
};

/* Events of one component, counted together. */
struct group {
  int component, n, events[N_COUNTERS], codes[N_COUNTERS]; /* events: rows */
  bool takes_turns;
  int *sets; /* one a task; PAPI_NULL where none runs */
};

struct tb_counting {
  int *tasks, n_tasks, n_groups;
  struct group groups[N_COUNTERS];
  bool asked[N_COUNTERS];
  char why[N_COUNTERS][TB_COUNTER_WHY];
  const char *disabled; /* why PAPI's component for the processor's counters is off; NULL: it is not */
  struct reading before, after, cost; /* cost: what is counted when nothing stands between begin and end */
};

int tb_counter_count(void) { return N_COUNTERS; }
const char *tb_counter_name(int index) { return rows[index].name; }
const char *tb_counter_help(int index) { return rows[index].help; }

/* What the system has counted for this process so far. */
static struct account read_account(void) {
  struct account account = {{0}};
  struct rusage usage;
  struct timespec cpu;
  getrusage(RUSAGE_SELF, &usage);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  account.values[FALLBACK_CPU_TIME] = (double)cpu.tv_sec * 1e9 + (double)cpu.tv_nsec;
  account.values[FALLBACK_PAGE_FAULTS] = (double)(usage.ru_minflt + usage.ru_majflt);
  account.values[FALLBACK_SWITCHES] = (double)(usage.ru_nvcsw + usage.ru_nivcsw);
  return account;
}

/* Room for one more task; false when memory is out. */
static bool grow_tasks(struct tb_counting *c, int *room) {
  if (c->n_tasks < *room) return true;
  const int more = *room ? 2 * *room : TASKS_FIRST;
  int *tasks = realloc(c->tasks, sizeof *tasks * (size_t)more);
  if (!tasks) return false;
  c->tasks = tasks;
  *room = more;
  return true;
}

/* All tasks, or false: a part of the threads would be a wrong count. */
static bool list_tasks(struct tb_counting *c) {
  int room = 0;
  bool good = true;
  DIR *folder = opendir("/proc/self/task");
  for (struct dirent *entry; good && folder && (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    good = grow_tasks(c, &room);
    if (good) c->tasks[c->n_tasks++] = atoi(entry->d_name);
  }
  if (folder) closedir(folder);
  return good;
}

static void free_counting(struct tb_counting *c) {
  for (int g = 0; g < c->n_groups; g++) free(c->groups[g].sets);
  free(c->tasks);
  free(c);
}

/* --- event sets --- */

static void stop_one(int *set) {
  long long values[N_COUNTERS];
  if (*set == PAPI_NULL) return;
  PAPI_stop(*set, values);
  PAPI_cleanup_eventset(*set);
  PAPI_destroy_eventset(set);
  *set = PAPI_NULL;
}

static void give_reason(struct tb_counting *c, int e, int status) {
  snprintf(c->why[e], TB_COUNTER_WHY, "%s: %s", rows[e].event,
           c->disabled ? c->disabled : PAPI_strerror(status));
}

/* Starts a group's set on one task. A PAPI status; *failed: the place of the event that is to blame, or -1.
 * The set is PAPI_NULL on failure. */
static int start_on(const struct group *g, int *set, int task, int *failed) {
  *set = PAPI_NULL;
  *failed = -1;
  int status = PAPI_create_eventset(set);
  if (status == PAPI_OK) status = PAPI_assign_eventset_component(*set, g->component);
  if (status == PAPI_OK && g->takes_turns) status = PAPI_set_multiplex(*set);
  if (status == PAPI_OK) status = PAPI_attach(*set, (unsigned long)task);
  for (int i = 0; i < g->n && status == PAPI_OK; i++) {
    status = PAPI_add_event(*set, g->codes[i]);
    if (status != PAPI_OK) *failed = i;
  }
  if (status == PAPI_OK) status = PAPI_start(*set);
  if (status == PAPI_OK || *set == PAPI_NULL) return status;
  PAPI_cleanup_eventset(*set);
  PAPI_destroy_eventset(set);
  *set = PAPI_NULL;
  return status;
}

static void drop_event(struct tb_counting *c, struct group *g, int place, int status) {
  give_reason(c, g->events[place], status);
  g->n--;
  for (int i = place; i < g->n; i++) {
    g->events[i] = g->events[i + 1];
    g->codes[i] = g->codes[i + 1];
  }
}

static int start_on_all(struct tb_counting *c, struct group *g, int *failed) {
  int status = PAPI_OK;
  for (int t = 0; t < c->n_tasks && status == PAPI_OK; t++)
    status = start_on(g, &g->sets[t], c->tasks[t], failed);
  for (int t = 0; t < c->n_tasks && status != PAPI_OK; t++) stop_one(&g->sets[t]);
  return status;
}

/* Too many for the machine's counters: with turns they may fit. Else the one to blame goes, and where none
 * is, the last. */
static void start_group(struct tb_counting *c, struct group *g) {
  while (g->n) {
    int failed;
    const int status = start_on_all(c, g, &failed);
    if (status == PAPI_OK) return;
    const bool crowded = (status == PAPI_ECNFLCT || status == PAPI_ECOUNT) && g->n > 1 && !g->takes_turns;
    if (crowded)
      g->takes_turns = true;
    else
      drop_event(c, g, failed >= 0 ? failed : g->n - 1, status);
  }
}

/* Puts an event into the group of its component. False when memory is out. */
static bool add_event(struct tb_counting *c, int e) {
  int code, status = PAPI_event_name_to_code(rows[e].event, &code), k = 0;
  if (status == PAPI_OK) status = PAPI_query_event(code);
  if (status != PAPI_OK) return give_reason(c, e, status), true;
  const int component = PAPI_get_event_component(code);
  while (k < c->n_groups && c->groups[k].component != component) k++;
  struct group *g = &c->groups[k];
  if (k == c->n_groups) {
    *g = (struct group){.component = component, .sets = malloc(sizeof *g->sets * (size_t)(c->n_tasks + 1))};
    if (!g->sets) return false;
    for (int t = 0; t < c->n_tasks; t++) g->sets[t] = PAPI_NULL;
    c->n_groups++;
  }
  g->events[g->n] = e;
  g->codes[g->n++] = code;
  return true;
}

static const char *disabled_reason(void) {
  const int component = PAPI_get_component_index("perf_event");
  const PAPI_component_info_t *info = component >= 0 ? PAPI_get_component_info(component) : NULL;
  if (!info) return "PAPI was built without perf_event";
  return info->disabled ? info->disabled_reason : NULL;
}

/* --- reading --- */

static bool counts_event(const struct tb_counting *c, int e) {
  return c->asked[e] && *rows[e].event && !c->why[e][0] && c->n_tasks;
}

static void read_group(const struct tb_counting *c, const struct group *g, struct reading *out) {
  for (int i = 0; i < g->n; i++) out->values[g->events[i]] = 0;
  for (int t = 0; t < c->n_tasks; t++) {
    long long values[N_COUNTERS] = {0};
    if (g->n && g->sets[t] != PAPI_NULL) PAPI_read(g->sets[t], values);
    for (int i = 0; i < g->n; i++) out->values[g->events[i]] += (double)values[i];
  }
}

static void add_account(const struct tb_counting *c, struct reading *out) {
  const struct account account = read_account();
  for (int e = 0; e < N_COUNTERS; e++)
    if (!counts_event(c, e)) out->values[e] = account.values[rows[e].fallback];
}

void tb_counting_begin(struct tb_counting *c) {
  for (int g = 0; g < c->n_groups; g++) read_group(c, &c->groups[g], &c->before);
  add_account(c, &c->before);
}

void tb_counting_end(struct tb_counting *c) {
  add_account(c, &c->after);
  for (int g = c->n_groups; g-- > 0;) read_group(c, &c->groups[g], &c->after);
}

/* The least that several empty stretches count: more would be somebody else's. */
static void measure_cost(struct tb_counting *c) {
  for (int trial = 0; trial < COST_TRIALS; trial++) {
    tb_counting_begin(c);
    tb_counting_end(c);
    for (int e = 0; e < N_COUNTERS; e++) {
      const double counted = c->after.values[e] - c->before.values[e];
      if (!trial || counted < c->cost.values[e]) c->cost.values[e] = counted;
    }
  }
}

/* --- opening and closing --- */

/* Events of the rows that are asked for, in groups. False when memory is out. */
static bool open_events(struct tb_counting *c) {
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  const bool works = version == PAPI_VER_CURRENT;
  if (works) c->disabled = disabled_reason();
  if (works) PAPI_multiplex_init(); /* where it fails, what does not fit is told */
  bool good = true;
  for (int e = 0; e < N_COUNTERS && good; e++) {
    if (!c->asked[e] || !*rows[e].event) continue;
    if (works)
      good = add_event(c, e);
    else
      snprintf(c->why[e], TB_COUNTER_WHY, "PAPI did not start: %s", PAPI_strerror(version));
  }
  for (int g = 0; g < c->n_groups && good; g++) start_group(c, &c->groups[g]);
  return good;
}

static struct tb_counting *open_asked(struct tb_counting *c) {
  if (!list_tasks(c) || !open_events(c)) return tb_counting_close(c, NULL), NULL;
  measure_cost(c);
  c->before = c->after;
  return c;
}

struct tb_counting *tb_counting_open(void) {
  struct tb_counting *c = calloc(1, sizeof *c);
  for (int e = 0; c && e < N_COUNTERS; e++) c->asked[e] = true;
  return c ? open_asked(c) : NULL;
}

struct tb_counting *tb_counting_open_named(const char *names) {
  struct tb_counting *c = calloc(1, sizeof *c);
  for (int e = 0; c && e < N_COUNTERS; e++) c->asked[e] = tb_name_listed(rows[e].name, names);
  return c ? open_asked(c) : NULL;
}

static bool takes_turns(const struct tb_counting *c, int e) {
  for (int g = 0; g < c->n_groups; g++)
    for (int i = 0; i < c->groups[g].n; i++)
      if (c->groups[g].events[i] == e) return c->groups[g].takes_turns;
  return false;
}

static void fill(const struct tb_counting *c, int e, struct tb_count *out) {
  const double counted = c->after.values[e] - c->before.values[e] - c->cost.values[e];
  *out = (struct tb_count){.name = rows[e].name,
                           .known = c->asked[e] && (counts_event(c, e) || rows[e].fallback != FALLBACK_NONE),
                           .multiplexed = takes_turns(c, e),
                           .value = counted > 0 ? counted : 0};
  const char *why = !c->asked[e]   ? "not asked for"
                    : c->why[e][0] ? c->why[e]
                                   : "the threads of this process cannot be listed";
  if (!out->known) snprintf(out->why, sizeof out->why, "%s", why);
}

void tb_counting_close(struct tb_counting *c, struct tb_count *counts) {
  if (!c) return;
  for (int e = 0; e < N_COUNTERS && counts; e++) fill(c, e, &counts[e]);
  for (int g = 0; g < c->n_groups; g++)
    for (int t = 0; t < c->n_tasks; t++) stop_one(&c->groups[g].sets[t]);
  free_counting(c);
}
