/* Where the captured function itself stands, and how its trace ends before an instruction: a capture that
 * broke is made again up to there. With opt.cow_snapshots off the state of side effects is copied before each
 * call, so that the end finds it as it was. */
#ifndef TC_CAPTURE_PLACE_H
#define TC_CAPTURE_PLACE_H

#include "capture/trace/frames.h"

/* --- place.c --- */
/* Before each instruction of the captured function's own frame: counts it; stops the frame, or breaks, where
 * the options say. */
tc_status tc_trace_step(struct tc_trace *t, struct tc_activation *a);
/* Inside of a call that the captured function makes: register of the Lua function that is called; -1. */
int tc_trace_callee(const struct tc_trace *t);

/* --- snapshot.c --- */
/* Copies the state of side effects at the place where the captured function stands. */
tc_status tc_snapshot_take(struct tc_trace *t);
/* Puts back the state at this place, if it was copied here. */
void tc_snapshot_restore(struct tc_trace *t);
void tc_snapshot_free(struct tc_trace *t);

#endif
