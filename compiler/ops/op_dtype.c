/* The dtype rules of ops.def. Each says which dtypes the operands may have, and gives the result's.
 *
 * Operations never promote: the tensor functions (and rules over the builder) insert the casts. */
#include "ops/rules.h"

/* All operands have the dtype of the first. */
static tc_status one_dtype(const struct tc_infer *c) {
  const tc_dtype dtype = c->in[0]->dtype;
  for (int i = 1; i < c->n_in; i++)
    if (c->in[i]->dtype != dtype)
      return tc_infer_fail_dtype(c, "the dtypes of operands 1 and %d differ; cast one of them", i + 1);
  c->out->dtype = dtype;
  return TC_OK;
}

tc_status tc_dtype_input(const struct tc_infer *c) {
  return tc_infer_fail(c, TC_ARG, "an input is given its dtype and shape; it has no rule");
}

tc_status tc_dtype_attr0(const struct tc_infer *c) {
  if (c->attrs->n_ints < 1 || !tc_sym_is_const(c->attrs->ints[0]))
    return tc_infer_fail(c, TC_ARG, "the dtype is missing");
  const int64_t dtype = tc_attr_int(c->attrs, 0);
  if (dtype < 0 || dtype >= TC_DTYPE_COUNT)
    return tc_infer_fail(c, TC_ARG, "%lld is no dtype", (long long)dtype);
  c->out->dtype = (tc_dtype)dtype;
  return TC_OK;
}

tc_status tc_dtype_same(const struct tc_infer *c) { return one_dtype(c); }

tc_status tc_dtype_first(const struct tc_infer *c) {
  c->out->dtype = c->in[0]->dtype;
  return TC_OK;
}

tc_status tc_dtype_number(const struct tc_infer *c) {
  const tc_status status = one_dtype(c);
  if (status) return status;
  if (c->out->dtype == TC_BOOL)
    return tc_infer_fail_dtype(c, "takes numbers, not bool; cast to i64 or use a logical operation");
  return TC_OK;
}

tc_status tc_dtype_real(const struct tc_infer *c) {
  const tc_status status = one_dtype(c);
  if (status) return status;
  if (!tc_dtype_is_float(c->out->dtype))
    return tc_infer_fail_dtype(c, "takes a floating-point dtype; cast to f32, f64 or bf16");
  return TC_OK;
}

tc_status tc_dtype_boolean(const struct tc_infer *c) {
  const tc_status status = one_dtype(c);
  c->out->dtype = TC_BOOL;
  return status;
}

tc_status tc_dtype_where(const struct tc_infer *c) {
  if (c->in[0]->dtype != TC_BOOL) return tc_infer_fail_dtype(c, "the condition must be bool");
  if (c->in[1]->dtype != c->in[2]->dtype)
    return tc_infer_fail_dtype(c, "the dtypes of the two choices differ; cast one of them");
  c->out->dtype = c->in[1]->dtype;
  return TC_OK;
}

tc_status tc_dtype_sum(const struct tc_infer *c) {
  const tc_dtype dtype = c->in[0]->dtype;
  c->out->dtype = tc_dtype_is_float(dtype) ? dtype : TC_I64;
  return TC_OK;
}

tc_status tc_dtype_index(const struct tc_infer *c) {
  c->out->dtype = TC_I64;
  return TC_OK;
}

tc_status tc_dtype_embedding(const struct tc_infer *c) {
  if (c->in[1]->dtype != TC_I64) return tc_infer_fail_dtype(c, "the index must be i64");
  c->out->dtype = c->in[0]->dtype;
  return TC_OK;
}
