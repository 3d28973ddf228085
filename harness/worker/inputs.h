/* The values that a workload was made with, as a file for a peer (peer.h).
 *
 * Items as in exchange.h: the arguments as "argument 1", …, then every tensor that the function holds from
 * outside, as "upvalue model[1].weight"; then END. One difference: a tensor's elements are those of its own
 * dtype, row-major. */
#ifndef TB_INPUTS_H
#define TB_INPUTS_H

#include "harness/worker/workload.h"

/* Before the first call, which may change its arguments. Raises. Why there are none; NULL: the file is
 * written. */
const char *tb_inputs_write(lua_State *L, const struct tb_workload *w, const char *path);

#endif
