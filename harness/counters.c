/* Counters of one process. Invariants:
 * 1. One event set an event and thread, so that an event the machine lacks takes no other with it.
 * 2. An event counts as known only when it could be started on every thread of the process.
 * 3. PAPI's context-switch event silently reads 0 in its default domain: that row has no event, and the system's account.
 * 4. Events run all the time from open on: begin and end only read them, and what reading itself counts is known and taken off. */
#include "harness/counters.h"

#include <dirent.h>
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum fallback { FALLBACK_NONE, FALLBACK_CPU_TIME, FALLBACK_PAGE_FAULTS, FALLBACK_SWITCHES, FALLBACK_COUNT };

static const struct { const char *name, *event, *help; enum fallback fallback; } rows[] = {
#define TB_COUNTER(name, event, fallback, help) {name, event, help, FALLBACK_##fallback},
#include "harness/counters.def"
#undef TB_COUNTER
};
enum { N_COUNTERS = sizeof rows / sizeof *rows, TASKS_FIRST = 64, COST_TRIALS = 5 };

struct account { double values[FALLBACK_COUNT]; };
struct reading { double values[N_COUNTERS]; };

struct tb_counting {
  int *tasks, n_tasks;
  int *sets[N_COUNTERS]; /* one a task; PAPI_NULL where none runs */
  char why[N_COUNTERS][TB_COUNTER_WHY];
  const char *disabled;   /* why PAPI's component for the processor's counters is off; NULL: it is not */
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

/* All tasks and their sets, or false: a part of the threads would be a wrong count. */
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
  for (int e = 0; good && e < N_COUNTERS; e++) {
    c->sets[e] = malloc(sizeof *c->sets[e] * (size_t)(c->n_tasks + 1));
    good = c->sets[e] != NULL;
    for (int t = 0; good && t < c->n_tasks; t++) c->sets[e][t] = PAPI_NULL;
  }
  return good;
}

static void free_counting(struct tb_counting *c) {
  for (int e = 0; e < N_COUNTERS; e++) free(c->sets[e]);
  free(c->tasks);
  free(c);
}

/* Starts an event on one task. A PAPI status; the set is PAPI_NULL on failure. */
static int start_on(int *set, int code, int task) {
  *set = PAPI_NULL;
  int status = PAPI_create_eventset(set);
  if (status == PAPI_OK) status = PAPI_assign_eventset_component(*set, PAPI_get_event_component(code));
  if (status == PAPI_OK) status = PAPI_attach(*set, (unsigned long)task);
  if (status == PAPI_OK) status = PAPI_add_event(*set, code);
  if (status == PAPI_OK) status = PAPI_start(*set);
  if (status == PAPI_OK || *set == PAPI_NULL) return status;
  PAPI_cleanup_eventset(*set);
  PAPI_destroy_eventset(set);
  *set = PAPI_NULL;
  return status;
}

static void stop_one(int *set) {
  if (*set == PAPI_NULL) return;
  long long value;
  PAPI_stop(*set, &value);
  PAPI_cleanup_eventset(*set);
  PAPI_destroy_eventset(set);
}

static void start_event(struct tb_counting *c, int e) {
  int code, status = PAPI_event_name_to_code(rows[e].event, &code);
  if (status == PAPI_OK) status = PAPI_query_event(code);
  for (int t = 0; status == PAPI_OK && t < c->n_tasks; t++) status = start_on(&c->sets[e][t], code, c->tasks[t]);
  if (status == PAPI_OK) return;
  const char *more = c->disabled ? c->disabled : PAPI_strerror(status);
  snprintf(c->why[e], TB_COUNTER_WHY, "%s: %s", rows[e].event, more);
}

static const char *disabled_reason(void) {
  const int component = PAPI_get_component_index("perf_event");
  const PAPI_component_info_t *info = component >= 0 ? PAPI_get_component_info(component) : NULL;
  if (!info) return "PAPI was built without perf_event";
  return info->disabled ? info->disabled_reason : NULL;
}

/* --- reading --- */

static bool counts_event(const struct tb_counting *c, int e) { return *rows[e].event && !c->why[e][0] && c->n_tasks; }

static double read_event(const struct tb_counting *c, int e) {
  double sum = 0;
  for (int t = 0; t < c->n_tasks; t++) {
    long long value = 0;
    if (c->sets[e][t] != PAPI_NULL) PAPI_read(c->sets[e][t], &value);
    sum += (double)value;
  }
  return sum;
}

static void add_account(const struct tb_counting *c, struct reading *out) {
  const struct account account = read_account();
  for (int e = 0; e < N_COUNTERS; e++)
    if (!counts_event(c, e)) out->values[e] = account.values[rows[e].fallback];
}

void tb_counting_begin(struct tb_counting *c) {
  for (int e = 0; e < N_COUNTERS; e++)
    if (counts_event(c, e)) c->before.values[e] = read_event(c, e);
  add_account(c, &c->before);
}

void tb_counting_end(struct tb_counting *c) {
  add_account(c, &c->after);
  for (int e = N_COUNTERS; e-- > 0;)
    if (counts_event(c, e)) c->after.values[e] = read_event(c, e);
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

struct tb_counting *tb_counting_open(void) {
  struct tb_counting *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  if (!list_tasks(c)) return free_counting(c), NULL;
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  if (version == PAPI_VER_CURRENT) c->disabled = disabled_reason();
  for (int e = 0; e < N_COUNTERS; e++) {
    if (!*rows[e].event) continue;
    if (version == PAPI_VER_CURRENT) start_event(c, e);
    else snprintf(c->why[e], TB_COUNTER_WHY, "PAPI did not start: %s", PAPI_strerror(version));
  }
  measure_cost(c);
  c->before = c->after;
  return c;
}

static void fill(const struct tb_counting *c, int e, struct tb_count *out) {
  const double counted = c->after.values[e] - c->before.values[e] - c->cost.values[e];
  *out = (struct tb_count){.name = rows[e].name, .known = counts_event(c, e) || rows[e].fallback != FALLBACK_NONE, .value = counted > 0 ? counted : 0};
  if (!out->known) snprintf(out->why, sizeof out->why, "%s", c->why[e][0] ? c->why[e] : "the threads of this process cannot be listed");
}

void tb_counting_close(struct tb_counting *c, struct tb_count *counts) {
  if (!c) return;
  for (int e = 0; e < N_COUNTERS; e++) {
    if (counts) fill(c, e, &counts[e]);
    for (int t = 0; t < c->n_tasks; t++) stop_one(&c->sets[e][t]);
  }
  free_counting(c);
}
