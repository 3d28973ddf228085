/* One run: what its parts share. A verb opens it (run.c) and says where it writes (run_result.c); it is
 * filled session by session (replicates.h), and summary.h makes the statistics. One thread. */
#ifndef TB_RUN_H
#define TB_RUN_H

#include "harness/base/progress.h"
#include "harness/machine/counter_selection.h"
#include "harness/plan/plan.h"
#include "harness/run/correctness.h"
#include "harness/run/result.h"
#include "harness/run/save.h"
#include "harness/run/stop.h"
#include "harness/wire/program.h"
#include "harness/wire/transport_command.h"
#include "harness/wire/worker_output.h"

/* What the first replicate leaves for the others to compare with. */
struct tb_track {
  char digest[TB_DIGEST_BYTES]; /* of the compiled function's first output that was compared; "" until then */
  double tolerance;             /* of the workload; 0: the table's */
};

struct tb_run {
  struct tc_arena *arena;
  struct tb_program program; /* this one */
  struct tb_spec spec;
  struct tb_suite *suites;
  struct tb_plan plan;
  const struct tb_transport *transport; /* leads to the host that workers run on */
  struct tb_transport_command *command; /* what that is, where transport= names one; else NULL */
  long long host_memory_mb;             /* of that host */
  struct tb_topology *topology;         /* of that host */
  struct tc_config config;              /* defaults and environment */
  struct tb_interrupt interrupt;
  struct tb_progress progress;
  struct tb_worker_output worker_output; /* of the suites */
  struct tb_result result;               /* its cases are parallel to the plan's while the run goes on */
  struct tb_track *tracks;               /* one a case */
  struct tb_save save;                   /* of the result */
  struct {
    const char *path;
    int group;
  } inputs;                          /* of peers (peer.h): the newest file, and whose; path NULL: none */
  const char *cache_root;            /* private folder of this run, removed at its end */
  struct tb_replication replication; /* how many replicates its groups take */
};

/* --- run.c --- */
/* From a command line to the plan: specification, suites, machine, cases. On failure a line (and Lua's
 * traceback, where a suite is broken) went to standard error, and the code says what to exit with.
 * tb_run_close is called in either case. */
enum tb_exit tb_run_open(struct tb_run *run, const char *verb, int argc, char *const *argv);
void tb_run_close(struct tb_run *run);

/* --- run_result.c --- */
/* Where the result goes: as out= says, in a folder that is there; else results/<UTC
 * time>_<tag><suite>+<suite>.json, whose folder is made. TC_ARG, TC_IO. */
tc_status tb_run_choose_out(struct tb_run *run, const char *tag, struct tc_error *err);
/* The folder of this run's caches: under cache_dir where it is given, else under $TMPDIR or /tmp. TC_ARG,
 * TC_IO. */
tc_status tb_run_make_cache(struct tb_run *run, struct tc_error *err);
/* An empty result of the plan's cases; `argv` as the verb got it. TC_NOMEM. */
tc_status tb_run_begin_result(struct tb_run *run, const char *verb, int argc, char *const *argv,
                              struct tc_error *err);
/* Time and interruption; a case that nothing is known of is recorded as such, so that no planned case is
 * missing from a result. Returns how many are known. */
size_t tb_run_end_result(struct tb_run *run);

#endif
