/* Sizes and strides of tensors, and the integers that Lua code computes from them. A size that is a variable
 * stays one in such an integer; decisions on it become guards when the trace ends (tc_shapes_seal). Sizes are
 * counts of elements, strides too. */
#ifndef TC_CAPTURE_SHAPES_H
#define TC_CAPTURE_SHAPES_H

#include "capture/trace/value.h"

/* Sizes and strides of a tensor from outside, guarded. */
tc_status tc_shape_of(struct tc_trace *t, struct tc_traced_tensor *x, const struct tc_traced_shape **out);
/* A size as a number of Lua; the symbol of such a number (false: it is none). */
tc_status tc_int_of_sym(struct tc_trace *t, tc_sym s, struct tc_tracked *out);
bool tc_sym_of_int(const struct tc_trace *t, const struct tc_tracked *v, tc_sym *out);
/* An integer as a size: a lazy one becomes a size variable. INVALID: it does not (and is fixed now). */
tc_status tc_size_of_int(struct tc_trace *t, struct tc_tracked *v, tc_sym *out);
/* What a lazy number is as a symbol: kept; or found, for the result of an operator on two that have one. */
tc_status tc_lazy_remember(struct tc_trace *t, int source, tc_sym s);
tc_status tc_lazy_symbol(struct tc_trace *t, int op, const struct tc_tracked *a, const struct tc_tracked *b,
                         const struct tc_tracked *result);
/* Decisions on sizes become guards. */
void tc_shapes_seal(struct tc_trace *t);

/* --- layout.c --- */
/* Makes the builder over out's graph. */
void tc_trace_open_builder(struct tc_trace *t);
/* Strides that the eager value has. */
tc_status tc_strides_of(struct tc_trace *t, struct tc_traced_tensor *x, tc_sym strides[TC_MAX_DIMS]);
tc_status tc_is_laid_out(struct tc_trace *t, struct tc_traced_tensor *x, bool *contiguous);

#endif
