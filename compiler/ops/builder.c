/* Short forms over a builder, for rules that are written as one expression.
 *
 * Invariant: after the first failure nothing more is emitted, and that failure is what stays in
 * r->status and r->err. */
#include "ops/builder.h"

struct tc_value *tc_rn(struct tc_rule *r, tc_op op, int n_in, struct tc_value *const *in,
                       const struct tc_attrs *attrs) {
  if (r->status) return NULL;
  for (int i = 0; i < n_in; i++)
    if (!in[i]) return NULL;
  struct tc_value *out = NULL;
  r->status = tc_emit(r->b, op, n_in, in, attrs, &out, r->err);
  return r->status ? NULL : out;
}

static const struct tc_attrs no_attrs = {0};

struct tc_value *tc_r1(struct tc_rule *r, tc_op op, struct tc_value *x) {
  return tc_rn(r, op, 1, &x, &no_attrs);
}

struct tc_value *tc_r2(struct tc_rule *r, tc_op op, struct tc_value *x, struct tc_value *y) {
  struct tc_value *const in[] = {x, y};
  return tc_rn(r, op, 2, in, &no_attrs);
}

struct tc_value *tc_r3(struct tc_rule *r, tc_op op, struct tc_value *x, struct tc_value *y,
                       struct tc_value *z) {
  struct tc_value *const in[] = {x, y, z};
  return tc_rn(r, op, 3, in, &no_attrs);
}

struct tc_value *tc_r_scalar(struct tc_rule *r, tc_dtype dtype, double value) {
  const bool is_float = tc_dtype_is_float(dtype);
  const tc_sym ints[] = {tc_sym_const(dtype), tc_sym_const(is_float ? 0 : (int64_t)value)};
  const double nums[] = {is_float ? value : 0};
  return tc_rn(r, TC_OP_full, 0, NULL, &(struct tc_attrs){ints, 2, nums, 1});
}

struct tc_value *tc_r_cast(struct tc_rule *r, struct tc_value *x, tc_dtype dtype) {
  if (r->status || !x) return NULL;
  if (tc_r_meta(r, x).dtype == dtype) return x;
  const tc_sym ints[] = {tc_sym_const(dtype)};
  return tc_rn(r, TC_OP_cast, 1, &x, &(struct tc_attrs){ints, 1, NULL, 0});
}

struct tc_value *tc_r_reduce(struct tc_rule *r, tc_op op, struct tc_value *x, int n_dims, const int *dims,
                             bool keepdim) {
  tc_sym ints[1 + TC_MAX_DIMS] = {tc_sym_const(keepdim)};
  for (int i = 0; i < n_dims; i++) ints[1 + i] = tc_sym_const(dims[i]);
  return tc_rn(r, op, 1, &x, &(struct tc_attrs){ints, 1 + n_dims, NULL, 0});
}

struct tc_meta tc_r_meta(struct tc_rule *r, struct tc_value *x) {
  struct tc_meta meta = {0};
  if (!r->status && x) tc_value_meta(r->b, x, &meta);
  return meta;
}
