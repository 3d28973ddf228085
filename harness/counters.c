/* Counters of one process. Invariants:
 * 1. One event set an event and thread, so that an event the machine lacks takes no other with it.
 * 2. An event counts as known only when it could be started on every thread of the process.
 * PAPI's context-switch and migration events silently read 0 in its default domain: those come from getrusage. */
#include "harness/counters.h"

#include <dirent.h>
#include <papi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const struct { const char *name, *event, *help; } rows[] = {
#define TB_COUNTER(name, event, help) {name, event, help},
#include "harness/counters.def"
#undef TB_COUNTER
};
enum { N_EVENTS = sizeof rows / sizeof *rows, SWITCHES = N_EVENTS, N_COUNTERS, TASKS_MAX = 256 };

struct tb_counting {
  int tasks[TASKS_MAX], n_tasks;
  int sets[N_EVENTS][TASKS_MAX]; /* PAPI_NULL where none runs */
  char why[N_EVENTS][TB_COUNTER_WHY];
  struct rusage before;
};

int tb_counter_count(void) { return N_COUNTERS; }
const char *tb_counter_name(int index) { return index == SWITCHES ? "context_switches" : rows[index].name; }
const char *tb_counter_help(int index) { return index == SWITCHES ? "context switches, voluntary or not" : rows[index].help; }

static void list_tasks(struct tb_counting *c) {
  DIR *folder = opendir("/proc/self/task");
  for (struct dirent *entry; folder && (entry = readdir(folder)) && c->n_tasks < TASKS_MAX;)
    if (entry->d_name[0] != '.') c->tasks[c->n_tasks++] = atoi(entry->d_name);
  if (folder) closedir(folder);
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

static long long stop_one(int *set) {
  long long value = 0;
  PAPI_stop(*set, &value);
  PAPI_cleanup_eventset(*set);
  PAPI_destroy_eventset(set);
  *set = PAPI_NULL;
  return value;
}

static void start_event(struct tb_counting *c, int e) {
  int code, status = PAPI_event_name_to_code(rows[e].event, &code);
  if (status == PAPI_OK) status = PAPI_query_event(code);
  for (int t = 0; status == PAPI_OK && t < c->n_tasks; t++) status = start_on(&c->sets[e][t], code, c->tasks[t]);
  if (status != PAPI_OK) snprintf(c->why[e], TB_COUNTER_WHY, "%s: %s", rows[e].event, PAPI_strerror(status));
}

struct tb_counting *tb_counting_start(void) {
  struct tb_counting *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  for (int e = 0; e < N_EVENTS; e++)
    for (int t = 0; t < TASKS_MAX; t++) c->sets[e][t] = PAPI_NULL;
  list_tasks(c);
  const int version = PAPI_library_init(PAPI_VER_CURRENT);
  for (int e = 0; e < N_EVENTS; e++) {
    if (version == PAPI_VER_CURRENT) start_event(c, e);
    else snprintf(c->why[e], TB_COUNTER_WHY, "PAPI did not start: %s", PAPI_strerror(version));
  }
  getrusage(RUSAGE_SELF, &c->before);
  return c;
}

static void read_event(struct tb_counting *c, int e, struct tb_count *out) {
  *out = (struct tb_count){.name = rows[e].name, .known = !c->why[e][0] && c->n_tasks};
  for (int t = 0; t < c->n_tasks; t++)
    if (c->sets[e][t] != PAPI_NULL) out->value += (double)stop_one(&c->sets[e][t]);
  if (!out->known) {
    out->value = 0;
    snprintf(out->why, sizeof out->why, "%s", c->why[e][0] ? c->why[e] : "the threads of this process cannot be listed");
  }
}

void tb_counting_stop(struct tb_counting *c, struct tb_count *counts) {
  if (!c) return;
  struct rusage after;
  getrusage(RUSAGE_SELF, &after);
  for (int e = 0; e < N_EVENTS; e++) read_event(c, e, &counts[e]);
  const long switches = after.ru_nvcsw - c->before.ru_nvcsw + after.ru_nivcsw - c->before.ru_nivcsw;
  counts[SWITCHES] = (struct tb_count){.name = tb_counter_name(SWITCHES), .known = true, .value = (double)switches};
  free(c);
}
