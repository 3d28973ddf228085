/* Runs a graph operation by operation on the device's eager kernels, in order; each value is released
 * after its last use. The executor of the backends eager and aot_eager, and of tests. */
#ifndef TC_RUNTIME_GRAPH_RUN_H
#define TC_RUNTIME_GRAPH_RUN_H

#include "base/context.h"
#include "ir/graph.h"

/* inputs[] are borrowed; outputs[] are the caller's afterwards (nothing after a failure). sizes[]: the values
 * of the graph's size variables; NULL where it has none. */
tc_status tc_graph_run(struct tc_context *ctx, struct tc_graph *g, const struct tc_tensor *const *inputs,
                       const int64_t *sizes, struct tc_tensor *outputs, struct tc_error *err);

#endif
