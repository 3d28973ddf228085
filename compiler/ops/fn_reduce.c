/* Reducing tensor functions, and softmax with its relatives. */
#include "ops/call.h"

enum { ARG_DIM = 1, ARG_KEEPDIM = 2, ARG_LAST = 3 };

static tc_dtype dtype_of(struct tc_call *c, struct tc_value *x) { return tc_r_meta(&c->r, x).dtype; }

/* Reduces over the dims of an argument (nil: all). */
static struct tc_value *reduce_nums(struct tc_call *c, tc_op op, struct tc_value *x, bool keepdim, int n_nums,
                                    const double *nums) {
  int dims[TC_MAX_DIMS];
  tc_sym ints[1 + TC_MAX_DIMS] = {tc_sym_const(keepdim)};
  const int count = tc_call_dims(c, ARG_DIM, tc_r_meta(&c->r, x).ndim, dims);
  for (int i = 0; i < count; i++) ints[1 + i] = tc_sym_const(dims[i]);
  return tc_rn(&c->r, op, 1, &x, &(struct tc_attrs){ints, 1 + count, nums, n_nums});
}

static struct tc_value *reduce(struct tc_call *c, tc_op op, struct tc_value *x) {
  return reduce_nums(c, op, x, tc_call_bool(c, ARG_KEEPDIM, false), 0, NULL);
}

/* sum and prod: bools and integers add up in i64. */
struct tc_value *tc_fn_sum(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const tc_dtype given = dtype_of(c, x),
                 dtype = tc_call_dtype(c, ARG_LAST, tc_dtype_is_float(given) ? given : TC_I64);
  x = tc_r_cast(&c->r, x, dtype);
  if (dtype == TC_BOOL) x = tc_r_cast(&c->r, x, TC_I64);
  return tc_r_cast(&c->r, reduce(c, c->op, x), dtype);
}

/* A floating-point operand, cast to the dtype argument if there is one. */
static struct tc_value *float_operand(struct tc_call *c, int dtype_arg) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const tc_dtype given = dtype_of(c, x), dtype = dtype_arg ? tc_call_dtype(c, dtype_arg, given) : given;
  if (x && !tc_dtype_is_float(dtype))
    return tc_call_fail(c, TC_DTYPE, "%s: takes a floating-point dtype; cast first%s", tc_dtype_name(dtype),
                        dtype_arg ? ", or name a dtype" : "");
  return tc_r_cast(&c->r, x, dtype);
}

struct tc_value *tc_fn_mean(struct tc_call *c) { return reduce(c, TC_OP_mean, float_operand(c, ARG_LAST)); }

struct tc_value *tc_fn_var(struct tc_call *c) {
  struct tc_value *x = float_operand(c, 0);
  const double nums[] = {tc_call_number(c, ARG_LAST, 1)};
  return reduce_nums(c, TC_OP_var, x, tc_call_bool(c, ARG_KEEPDIM, false), 1, nums);
}

struct tc_value *tc_fn_std(struct tc_call *c) { return tc_r1(&c->r, TC_OP_sqrt, tc_fn_var(c)); }

/* The largest of bools is whether any is true, the smallest whether all are. */
static tc_op extreme_op(tc_op op, tc_dtype dtype) {
  if (dtype != TC_BOOL) return op;
  return op == TC_OP_amax ? TC_OP_any : TC_OP_all;
}

struct tc_value *tc_fn_extreme(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  return reduce(c, extreme_op(c->op, dtype_of(c, x)), x);
}

/* The index, from 1, of the extreme along one dimension. */
static struct tc_value *argument_along(struct tc_call *c, tc_op op, struct tc_value *x, int dim,
                                       bool keepdim) {
  if (dtype_of(c, x) == TC_BOOL) x = tc_r_cast(&c->r, x, TC_I64);
  const int count = tc_r_meta(&c->r, x).ndim ? 1 : 0;
  struct tc_value *index = tc_r_reduce(&c->r, op, x, count, &dim, keepdim);
  return tc_r2(&c->r, TC_OP_add, index, tc_r_scalar(&c->r, TC_I64, 1));
}

struct tc_value *tc_fn_argument(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const bool keepdim = tc_call_bool(c, ARG_KEEPDIM, false);
  const struct tc_meta meta = tc_r_meta(&c->r, x);
  if (tc_call_given(c, ARG_DIM))
    return argument_along(c, c->op, x, tc_call_dim(c, ARG_DIM, meta.ndim, 0), keepdim);
  if (meta.ndim == 0) return argument_along(c, c->op, x, 0, false);
  const tc_sym count = tc_meta_numel(tc_call_tab(c), &meta);
  struct tc_value *index = argument_along(c, c->op, tc_call_reshape(c, x, 1, &count), 0, false);
  if (!keepdim) return index;
  tc_sym ones[TC_MAX_DIMS];
  for (int d = 0; d < meta.ndim; d++) ones[d] = tc_sym_const(1);
  return tc_call_reshape(c, index, meta.ndim, ones);
}

/* max and min: of all, of two tensors, or along a dimension with the indices. */
struct tc_value *tc_fn_max(struct tc_call *c) {
  enum { ARG_OTHER = 1, ARG_NAMED_DIM = 3 };
  struct tc_value *x = tc_call_tensor(c, 0);
  const struct tc_meta meta = tc_r_meta(&c->r, x);
  const tc_op op = extreme_op(c->op, meta.dtype);
  if (c->args[ARG_OTHER].kind == TC_ARG_VALUE) {
    struct tc_call two = *c;
    two.op = c->op == TC_OP_amax ? TC_OP_maximum : TC_OP_minimum;
    struct tc_value *result = tc_fn_arithmetic(&two);
    c->r = two.r;
    return result;
  }
  const int dim_arg = tc_call_given(c, ARG_OTHER) ? ARG_OTHER : ARG_NAMED_DIM;
  if (!tc_call_given(c, dim_arg)) {
    const int all[] = {0, 1, 2, 3, 4, 5, 6, 7};
    _Static_assert(sizeof all / sizeof *all == TC_MAX_DIMS, "one entry a dimension");
    return tc_r_reduce(&c->r, op, x, meta.ndim, all, false);
  }
  const int dim = tc_call_dim(c, dim_arg, meta.ndim, 0);
  const bool keepdim = tc_call_bool(c, ARG_KEEPDIM, false);
  tc_call_push(c, tc_r_reduce(&c->r, op, x, meta.ndim ? 1 : 0, &dim, keepdim));
  tc_call_push(c, argument_along(c, c->op == TC_OP_amax ? TC_OP_argmax : TC_OP_argmin, x, dim, keepdim));
  return NULL;
}

struct tc_value *tc_fn_truth(struct tc_call *c) {
  return reduce(c, c->op, tc_r_cast(&c->r, tc_call_tensor(c, 0), TC_BOOL));
}

struct tc_value *tc_fn_softmax(struct tc_call *c) {
  enum { ARG_DTYPE = 2 };
  struct tc_value *x = float_operand(c, ARG_DTYPE);
  const tc_sym ints[] = {tc_sym_const(tc_call_dim(c, ARG_DIM, tc_r_meta(&c->r, x).ndim, 0))};
  return tc_call_emit_ints(c, c->op, x, 1, ints);
}

struct tc_value *tc_fn_logsumexp(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  x = x ? tc_r_cast(&c->r, x, tc_float_dtype(c->r.b, dtype_of(c, x))) : NULL;
  return reduce(c, TC_OP_logsumexp, x);
}
