/* A suite as the harness sees it: its description, asked from a worker, so that a suite's code never runs in
 * the harness itself (a suite that crashes, hangs or leaves is an error with a line, not the end of the
 * program). */
#ifndef TB_SUITE_H
#define TB_SUITE_H

#include "base/arena.h"
#include "harness/base/value.h"
#include "harness/wire/process.h"

struct tb_suite_axis {
  const char *name;
  struct tb_value *values;
  int count;
};

struct tb_suite {
  const char *name, *about, *path; /* about may be "" */
  const char **workloads;          /* sorted */
  int n_workloads;
  struct tb_suite_axis *axes; /* sorted by name; dtype, threads and topology may be among them */
  int n_axes;
  const char **modes, **devices; /* none: the defaults */
  int n_modes, n_devices;
  struct tb_suite_axis *modes_of; /* by workload: modes of its own, in place of the suite's */
  int n_modes_of;
  const char **switches; /* sets (switch_set.h), each of which makes cases of its own, also one that stands
                            there again; none: one empty set */
  int n_switches;
  const char **backends; /* that can be named once the suite is loaded: those that are built, and what it or a
                            plug-in registers */
  int n_backends;
  const char *counters; /* what counters= takes where the command line names none; "": the default */
  double timeout_s;     /* 0: the default */
};

/* Folders that are searched for NAME.lua, in order: $TBENCH_SUITES (with colons), the source tree while the
 * program runs out of its build tree, else the installed suites (also of an installation that was moved), the
 * current folder. NULL when memory is out. */
const char **tb_suite_path(struct tc_arena *arena, int *count);
/* "looked in A, B (cannot be read), .; set …": for a message where no suite was found. In the arena. */
const char *tb_suite_places(struct tc_arena *arena);
/* Names of all suites on the path (but for the current folder), sorted, each once. NULL when memory is
 * out. */
const char **tb_suite_names(struct tc_arena *arena, int *count);
/* The file of a suite: a text with '/' or ending in ".lua" is a file, another one a name on the path.
 * TC_ARG with the nearest name when there is none. */
tc_status tb_suite_find(struct tc_arena *arena, const char *name, const char **path, struct tc_error *err);
/* The worker that loads a suite. */
struct tb_describer {
  const struct tb_transport *transport; /* NULL: it runs here */
  const char *own;                      /* path of this program (program.h) */
  const struct tc_config *config;
  struct tb_interrupt *interrupt;
  struct tb_worker_output *worker_output;
  double timeout_s;                 /* 0: half a minute */
  long long memory_mb;              /* 0: no limit */
  const struct tb_plugins *plugins; /* registered before the suite is loaded; NULL: none */
};
/* Loads and checks the file in a worker. TC_ARG: the file is broken; *trace is Lua's traceback or NULL (in
 * the arena). */
tc_status tb_suite_describe(struct tc_arena *arena, const char *path, const struct tb_describer *describer,
                            struct tb_suite *out, const char **trace, struct tc_error *err);

#endif
