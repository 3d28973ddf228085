/* Lazy scalars: numbers from outside whose value changes between calls, and what is computed from them. They
 * hold the captured call's value as a hint; whoever needs the value itself calls tc_use, which guards it. */
#ifndef TC_CAPTURE_LAZY_H
#define TC_CAPTURE_LAZY_H

#include "capture/trace/value.h"

bool tc_is_lazy(const struct tc_trace *t, const struct tc_tracked *v);
/* Of a scalar that was just read from its source: is it one that changes? */
void tc_lazy_import(struct tc_trace *t, const struct tc_tracked *v);
/* `result` was computed from numbers by a LUA_OP… or a function (unary ones look at `a` alone): it stays an
 * expression where an operand is lazy; else both are fixed. */
tc_status tc_lazy_arith(struct tc_trace *t, int op, struct tc_tracked *a, struct tc_tracked *b,
                        struct tc_tracked *result);
/* The outcome of a comparison (TC_GUARD_OP_…) is guarded, or both operands are fixed. */
tc_status tc_lazy_compare(struct tc_trace *t, int op, struct tc_tracked *a, struct tc_tracked *b,
                          bool outcome);

/* --- lazy_tensor.c --- */
/* Is it a number, or a short list of numbers, of which one is lazy? *integers: all of them are integers. */
tc_status tc_lazy_data(struct tc_trace *t, struct tc_tracked data, bool *lazy, bool *integers);
/* tb.tensor of such data. */
tc_status tc_lazy_tensor(struct tc_trace *t, struct tc_tracked data, tc_dtype dtype, struct tc_value **out);

#endif
