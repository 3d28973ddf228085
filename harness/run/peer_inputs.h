/* The file of values that a peer computes from (worker/inputs.h). */
#ifndef TB_PEER_INPUTS_H
#define TB_PEER_INPUTS_H

#include "harness/run/run.h"

/* Makes the file of the case's inputs, unless the newest one is its group's: *path, in the arena. Where that
 * fails, `process` is one that never started, with the outcome and the reason. */
tc_status tb_peer_inputs(struct tb_run *run, const struct tb_case *kase, double timeout_s, const char **path,
                         struct tb_process *process, struct tc_error *err);

#endif
