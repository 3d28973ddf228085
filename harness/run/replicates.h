/* Measuring a plan: sessions of its groups, replicate by replicate (replicates.c, session.c). A session is
 * one group of cases in one replicate, each worker a fresh process. Failures of workers become outcomes of
 * their cases; a status is returned only for what ends the run: TC_INTERRUPTED (a second Ctrl-C) or TC_NOMEM.
 */
#ifndef TB_REPLICATES_H
#define TB_REPLICATES_H

#include "harness/run/run.h"

/* --- replicates.c --- */
/* Takes the replicates of all groups of the plan, as `replication` says, and saves along the way. */
tc_status tb_run_sessions(struct tb_run *run, struct tc_error *err);

/* --- session.c --- */
tc_status tb_session_run(struct tb_run *run, int group, int replicate, struct tc_error *err);
/* Seconds that one session of a group of `cases` is expected to take. */
double tb_session_estimate(const struct tb_run *run, int cases, bool first_replicate);

#endif
