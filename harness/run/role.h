/* Starting a worker in one of the roles of a case: the process, and `prepare` with the case as Lua sees it;
 * and what the command line and the suite say of such a worker: its time, memory, counters. */
#ifndef TB_ROLE_H
#define TB_ROLE_H

#include "harness/run/run.h"
#include "harness/worker/workload.h"

struct tb_prepared {
  double calls_max;    /* that one block may have */
  double tolerance;    /* of the workload; 0: the table's */
  double flops, bytes; /* of one call, as the suite says; NaN: it does not */
};

tc_status tb_role_start(struct tb_run *run, const struct tb_case *kase, enum tb_role role,
                        const char *cache_dir, struct tb_process *process, struct tb_prepared *out,
                        struct tc_error *err);
/* The same with a launch of the caller's own making, each step within `timeout_s`. */
tc_status tb_role_launch(struct tb_run *run, const struct tb_case *kase, enum tb_role role,
                         const struct tb_launch *launch, double timeout_s, struct tb_process *process,
                         struct tb_prepared *out, struct tc_error *err);

/* Seconds that one step of a worker of this case may take. */
double tb_run_timeout(const struct tb_run *run, const struct tb_case *kase);
/* What is counted of this case: as counters= says, else its suite, else counters=papi. */
tc_status tb_run_counter_selection(const struct tb_run *run, const struct tb_case *kase,
                                   struct tb_counter_selection *out, struct tc_error *err);
/* MiB that one worker may allocate; 0: no limit. */
long long tb_run_memory_mb(const struct tb_run *run);
/* How a worker of this case is started. `cache_dir` NULL: the run's own. */
struct tb_launch tb_run_launch(struct tb_run *run, const struct tb_case *kase, const char *cache_dir);

#endif
