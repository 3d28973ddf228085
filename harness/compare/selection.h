/* Impact selection (`changed-since=RESULT`): which cases of a plan are worth their time.
 *
 * Each case is compiled once, cold, in a process of its own, and its artifact is held against that of the
 * same case in RESULT. Timed are cases whose artifact changed, or cannot be told ("changed"), cases that
 * RESULT does not have ("new"), and a seeded random sample of the rest ("sample", another one for each
 * RESULT), since a runtime, a library or a machine may have changed where no artifact did. The others are
 * left out: listed in the result, and never counted as measured. Ownership: everything in the run's arena. */
#ifndef TB_SELECTION_H
#define TB_SELECTION_H

#include "harness/run/run.h"

struct tb_selection {
  const char *since; /* file of the earlier result */
  cJSON *earlier;    /* its document, NULL: all cases are timed; tb_selection_close deletes it */
  int changed, fresh, sampled;
  TC_VEC(struct tb_left_out) left_out;
};

/* Reads the earlier result that the command line names; does nothing where it names none. TC_IO, TC_LIMIT,
 * TC_CORRUPT, TC_NOMEM. */
tc_status tb_selection_open(struct tb_run *run, struct tb_selection *out, struct tc_error *err);
/* Compiles the plan's cases and takes those out that are not timed; tells how many on standard error. The run
 * has a cache folder and no result yet. TC_INTERRUPTED, TC_NOMEM. */
tc_status tb_selection_apply(struct tb_run *run, struct tb_selection *selection, struct tc_error *err);
/* Writes into the run's result what was left out. */
void tb_selection_record(const struct tb_selection *selection, struct tb_result *result);
void tb_selection_close(struct tb_selection *selection);

/* What the sample is drawn by: seed= and when the earlier result was started. So the same command draws the
 * same again, and each night that goes on from the one before draws anew: in time every case is timed. */
uint64_t tb_selection_seed(uint64_t seed, const char *started);
/* Draws `count` of `n` numbers, true in out[n]; the same seed gives the same. `scratch`: room for n. */
void tb_selection_draw(uint64_t seed, int n, int count, int *scratch, bool *out);

#endif
