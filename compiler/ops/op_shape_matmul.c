/* The shape rules of ops.def for products: matmul, linear, scaled dot product attention. */
#include <string.h>

#include "ops/rules.h"

static bool equal_sizes(const struct tc_infer *c, tc_sym a, tc_sym b) {
  return tc_sym_same(a, b) || tc_sym_decide_eq(c->tab, a, b);
}

static tc_sym size_from_end(const struct tc_meta *meta, int back) { return meta->sizes[meta->ndim - back]; }

/* "the inner sizes 3 and 4 differ" */
static tc_status fail_inner(const struct tc_infer *c, const char *what, tc_sym a, tc_sym b) {
  if (tc_sym_is_const(a) && tc_sym_is_const(b))
    return tc_infer_fail(c, TC_SHAPE, "the %s %lld and %lld differ", what, (long long)tc_sym_value(a),
                         (long long)tc_sym_value(b));
  return tc_infer_fail(c, TC_SHAPE, "the %s differ", what);
}

/* The batch dimensions (all but the last two) of one more operand. */
static bool broadcast_batch(const struct tc_infer *c, const struct tc_meta *x) {
  return tc_broadcast_into(c->tab, x->sizes, x->ndim - 2, c->out->sizes, &c->out->ndim);
}

static tc_status fail_batch(const struct tc_infer *c) {
  return tc_infer_fail(c, TC_SHAPE,
                       "the batch dimensions (all but the last two) can not be broadcast together");
}

static tc_status append_sizes(const struct tc_infer *c, tc_sym rows, tc_sym columns) {
  c->out->sizes[c->out->ndim++] = rows;
  c->out->sizes[c->out->ndim++] = columns;
  return tc_infer_check_sizes(c);
}

tc_status tc_shape_matmul(const struct tc_infer *c) {
  const struct tc_meta *a = c->in[0], *b = c->in[1];
  if (a->ndim < 2 || b->ndim < 2)
    return tc_infer_fail(c, TC_SHAPE, "both operands must have at least 2 dimensions");
  const tc_sym inner_a = size_from_end(a, 1), inner_b = size_from_end(b, 2);
  if (!equal_sizes(c, inner_a, inner_b)) return fail_inner(c, "inner sizes", inner_a, inner_b);
  c->out->ndim = 0;
  if (!broadcast_batch(c, a) || !broadcast_batch(c, b)) return fail_batch(c);
  return append_sizes(c, size_from_end(a, 2), size_from_end(b, 1));
}

tc_status tc_shape_linear(const struct tc_infer *c) {
  if (c->n_in < 2 || c->n_in > 3)
    return tc_fail(c->err, TC_ARG, "ops", "linear: takes 2 or 3 operands, got %d", c->n_in);
  const struct tc_meta *x = c->in[0], *weight = c->in[1];
  if (x->ndim < 1) return tc_infer_fail(c, TC_SHAPE, "the input must have at least 1 dimension");
  if (weight->ndim != 2) return tc_infer_fail(c, TC_SHAPE, "the weight must have 2 dimensions (out, in)");
  const tc_sym features = size_from_end(x, 1);
  if (!equal_sizes(c, features, weight->sizes[1]))
    return fail_inner(c, "features of input and weight,", features, weight->sizes[1]);
  if (c->n_in == 3 && (c->in[2]->ndim != 1 || !equal_sizes(c, c->in[2]->sizes[0], weight->sizes[0])))
    return tc_infer_fail(c, TC_SHAPE, "the bias must have 1 dimension with the size of the weight's first");
  c->out->ndim = x->ndim;
  memcpy(c->out->sizes, x->sizes, (size_t)x->ndim * sizeof *x->sizes);
  c->out->sizes[x->ndim - 1] = weight->sizes[0];
  return tc_infer_check_sizes(c);
}

/* The mask broadcasts to [batch…, L, S]. */
static tc_status check_mask(const struct tc_infer *c, const struct tc_meta *mask, tc_sym rows,
                            tc_sym columns) {
  const struct tc_meta *out = c->out; /* the batch dimensions so far */
  bool fits = mask->ndim <= out->ndim + 2;
  for (int back = 1; fits && back <= mask->ndim; back++) {
    const tc_sym want = back == 1 ? columns : back == 2 ? rows : out->sizes[out->ndim + 2 - back];
    const tc_sym have = size_from_end(mask, back);
    fits = tc_sym_is(have, 1) || equal_sizes(c, have, want);
  }
  return fits ? TC_OK
              : tc_infer_fail(c, TC_SHAPE,
                              "the mask does not broadcast to the scores [batch…, queries, keys]");
}

tc_status tc_shape_sdpa(const struct tc_infer *c) {
  if (c->n_in < 3 || c->n_in > 4)
    return tc_fail(c->err, TC_ARG, "ops", "sdpa: takes 3 or 4 operands, got %d", c->n_in);
  if (c->attrs->n_ints != 1 || c->attrs->n_nums != 1)
    return tc_infer_fail(c, TC_ARG, "takes causal and scale");
  const struct tc_meta *q = c->in[0], *k = c->in[1], *v = c->in[2];
  if (q->ndim < 2 || k->ndim < 2 || v->ndim < 2)
    return tc_infer_fail(c, TC_SHAPE, "query, key and value must have at least 2 dimensions");
  if (!equal_sizes(c, size_from_end(q, 1), size_from_end(k, 1)))
    return fail_inner(c, "sizes of query and key,", size_from_end(q, 1), size_from_end(k, 1));
  if (!equal_sizes(c, size_from_end(k, 2), size_from_end(v, 2)))
    return fail_inner(c, "lengths of key and value,", size_from_end(k, 2), size_from_end(v, 2));
  c->out->ndim = 0;
  if (!broadcast_batch(c, q) || !broadcast_batch(c, k) || !broadcast_batch(c, v)) return fail_batch(c);
  if (c->n_in == 4) {
    const tc_status status = check_mask(c, c->in[3], size_from_end(q, 2), size_from_end(k, 2));
    if (status) return status;
  }
  return append_sizes(c, size_from_end(q, 2), size_from_end(v, 1));
}
