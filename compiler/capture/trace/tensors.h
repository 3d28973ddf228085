/* Tensor functions become nodes of the graph (tensors.c); members of tensors are answered from their shapes
 * (members.c). What a function would refuse is a break, so that the eager call raises its own error. */
#ifndef TC_CAPTURE_TENSORS_H
#define TC_CAPTURE_TENSORS_H

#include "capture/trace/value.h"

/* --- tensors.c --- */
/* Nodes that are added from now on stand at the line of the running instruction. */
void tc_mark_line(struct tc_trace *t);
/* One more operation of the graph; breaks where they pass the limit. */
tc_status tc_count_operation(struct tc_trace *t);
void tc_guard_default_dtype(struct tc_trace *t);
/* A lazy number as an input of the graph, without dimensions: once each. NULL: there are too many. */
tc_status tc_scalar_node(struct tc_trace *t, const struct tc_tracked *v, struct tc_node **out);
tc_status tc_call_function(struct tc_trace *t, const struct tc_function *function, size_t at, int n_args,
                           int *n_results);

/* --- members.c --- */
tc_status tc_tensor_index(struct tc_trace *t, struct tc_traced_tensor *tensor, struct tc_tracked *key,
                          struct tc_tracked *out);
tc_status tc_tensor_length(struct tc_trace *t, struct tc_traced_tensor *tensor, struct tc_tracked *out);

#endif
