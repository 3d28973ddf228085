/* Products and layers: matmul and its relatives, linear, normalisation, attention, dropout. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ops/attention.h"
#include "ops/call.h"

/* ---- matmul ---- */

static struct tc_value *unsqueeze(struct tc_call *c, struct tc_value *x, int dim) {
  const tc_sym ints[] = {tc_sym_const(dim)};
  return tc_call_emit_ints(c, TC_OP_unsqueeze, x, 1, ints);
}

static struct tc_value *squeeze(struct tc_call *c, struct tc_value *x, int dim) {
  const tc_sym ints[] = {tc_sym_const(dim)};
  return tc_call_emit_ints(c, TC_OP_squeeze, x, 1, ints);
}

/* A batch times one matrix is one product of a taller matrix. */
static struct tc_value *matmul_folded(struct tc_call *c, struct tc_value *x, struct tc_value *y) {
  const struct tc_meta a = tc_r_meta(&c->r, x), b = tc_r_meta(&c->r, y);
  if (c->r.status || a.ndim < 3 || b.ndim != 2 ||
      !tc_sym_decide_eq(tc_call_tab(c), a.sizes[a.ndim - 1], b.sizes[0]))
    return tc_r2(&c->r, TC_OP_matmul, x, y);
  tc_sym rows = tc_sym_const(1), sizes[TC_MAX_DIMS];
  for (int d = 0; d < a.ndim - 1; d++) rows = tc_sym_mul(tc_call_tab(c), rows, a.sizes[d]);
  const tc_sym flat[] = {rows, a.sizes[a.ndim - 1]};
  memcpy(sizes, a.sizes, sizeof sizes);
  sizes[a.ndim - 1] = b.sizes[1];
  return tc_call_reshape(c, tc_r2(&c->r, TC_OP_matmul, tc_call_reshape(c, x, 2, flat), y), a.ndim, sizes);
}

struct tc_value *tc_call_matmul(struct tc_call *c, struct tc_value *x, struct tc_value *y) {
  const struct tc_meta a = tc_r_meta(&c->r, x), b = tc_r_meta(&c->r, y);
  if (c->r.status) return NULL;
  if (a.ndim == 0 || b.ndim == 0)
    return tc_call_fail(c, TC_SHAPE,
                        "both operands must have at least 1 dimension; use mul for a 0-dimensional one");
  /* A vector is a row on the left and a column on the right; its dimension is dropped from the result. */
  if (a.ndim == 1) x = unsqueeze(c, x, 0);
  if (b.ndim == 1) y = unsqueeze(c, y, 1);
  struct tc_value *out = matmul_folded(c, x, y);
  if (b.ndim == 1) out = squeeze(c, out, tc_r_meta(&c->r, out).ndim - 1);
  if (a.ndim == 1) out = squeeze(c, out, tc_r_meta(&c->r, out).ndim - (b.ndim == 1 ? 1 : 2));
  return out;
}

struct tc_value *tc_fn_matmul(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0), *y = tc_call_tensor(c, 1);
  return tc_call_matmul(c, x, y);
}

/* Both operands have exactly `ndim` dimensions. */
static struct tc_value *matmul_of_rank(struct tc_call *c, int ndim) {
  struct tc_value *x = tc_call_tensor(c, 0), *y = tc_call_tensor(c, 1);
  const struct tc_meta a = tc_r_meta(&c->r, x), b = tc_r_meta(&c->r, y);
  char left[TC_SHAPE_TEXT], right[TC_SHAPE_TEXT];
  if (c->r.status) return NULL;
  if (a.ndim != ndim || b.ndim != ndim)
    return tc_call_fail(c, TC_SHAPE, "%s and %s: both operands must have %d dimensions",
                        tc_call_shape(c, x, left), tc_call_shape(c, y, right), ndim);
  if (ndim == 3 && !tc_sym_decide_eq(tc_call_tab(c), a.sizes[0], b.sizes[0]))
    return tc_call_fail(c, TC_SHAPE, "%s and %s: the batch sizes differ", tc_call_shape(c, x, left),
                        tc_call_shape(c, y, right));
  return tc_r2(&c->r, TC_OP_matmul, x, y);
}

struct tc_value *tc_fn_mm(struct tc_call *c) { return matmul_of_rank(c, 2); }
struct tc_value *tc_fn_bmm(struct tc_call *c) { return matmul_of_rank(c, 3); }

struct tc_value *tc_fn_linear(struct tc_call *c) {
  struct tc_value *const in[] = {tc_call_tensor(c, 0), tc_call_tensor(c, 1), tc_call_optional(c, 2)};
  return tc_rn(&c->r, TC_OP_linear, in[2] ? 3 : 2, in, NULL);
}

/* ---- normalisation ---- */

/* normalized_shape must be the last sizes of x. Gives their count. */
static int normalized_dims(struct tc_call *c, struct tc_value *x, int arg) {
  tc_sym sizes[TC_MAX_DIMS];
  char text[TC_SHAPE_TEXT];
  const int count = tc_call_ints(c, arg, TC_MAX_DIMS, sizes);
  const struct tc_meta meta = tc_r_meta(&c->r, x);
  if (c->r.status) return 0;
  bool equal = count >= 1 && count <= meta.ndim;
  for (int d = 0; equal && d < count; d++)
    equal = tc_sym_decide_eq(tc_call_tab(c), sizes[d], meta.sizes[meta.ndim - count + d]);
  if (!equal)
    tc_call_fail(c, TC_SHAPE, "normalized_shape is not the last sizes of %s", tc_call_shape(c, x, text));
  return count;
}

static struct tc_value *norm(struct tc_call *c, struct tc_value *x, struct tc_value *weight,
                             struct tc_value *bias, double eps) {
  struct tc_value *in[3] = {x};
  int count = 1;
  const tc_sym ints[] = {tc_sym_const(normalized_dims(c, x, 1)), tc_sym_const(weight != NULL),
                         tc_sym_const(bias != NULL)};
  const double nums[] = {eps};
  if (weight) in[count++] = weight;
  if (bias) in[count++] = bias;
  return tc_rn(&c->r, c->op, count, in, &(struct tc_attrs){ints, 3, nums, 1});
}

struct tc_value *tc_fn_layer_norm(struct tc_call *c) {
  static const double default_eps = 1e-5;
  struct tc_value *x = tc_call_tensor(c, 0), *weight = tc_call_optional(c, 2), *bias = tc_call_optional(c, 3);
  return norm(c, x, weight, bias, tc_call_number(c, 4, default_eps));
}

/* The default eps is that of the dtype that the norm is computed in. */
struct tc_value *tc_fn_rms_norm(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0), *weight = tc_call_optional(c, 2);
  const double default_eps = tc_r_meta(&c->r, x).dtype == TC_F64 ? DBL_EPSILON : FLT_EPSILON;
  return norm(c, x, weight, NULL, tc_call_number(c, 3, default_eps));
}

/* ---- dropout, attention ---- */

struct tc_value *tc_call_dropout(struct tc_call *c, struct tc_value *x, double p) {
  struct tc_rule *r = &c->r;
  const struct tc_meta meta = tc_r_meta(r, x);
  tc_sym ints[1 + TC_MAX_DIMS] = {tc_sym_const(TC_F32)};
  memcpy(ints + 1, meta.sizes, (size_t)meta.ndim * sizeof *ints);
  if (r->status) return NULL;
  if (!tc_dtype_is_float(meta.dtype))
    return tc_call_fail(c, TC_DTYPE, "%s: takes a floating-point dtype", tc_dtype_name(meta.dtype));
  struct tc_value *drawn = tc_rn(r, TC_OP_rand, 0, NULL, &(struct tc_attrs){ints, 1 + meta.ndim, NULL, 0});
  struct tc_value *kept = tc_r_cast(r, tc_r2(r, TC_OP_ge, drawn, tc_r_scalar(r, TC_F32, p)), meta.dtype);
  struct tc_value *rest = tc_r2(r, TC_OP_mul, x, kept);
  return tc_r2(r, TC_OP_mul, rest, tc_r_scalar(r, meta.dtype, p < 1 ? 1 / (1 - p) : 0));
}

static double probability(struct tc_call *c, int arg, double otherwise) {
  const double p = tc_call_number(c, arg, otherwise);
  if (!(p >= 0 && p <= 1)) tc_call_fail(c, TC_ARG, "the probability must lie between 0 and 1, got %g", p);
  return p;
}

struct tc_value *tc_fn_dropout(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const double p = probability(c, 1, 0.5);
  return !tc_call_bool(c, 2, true) || p == 0 ? x : tc_call_dropout(c, x, p);
}

/* A bool mask says where to look: it becomes 0 and -∞, to be added. */
static struct tc_value *additive_mask(struct tc_call *c, struct tc_value *mask, tc_dtype dtype) {
  if (!mask || tc_r_meta(&c->r, mask).dtype != TC_BOOL) return mask;
  struct tc_value *zero = tc_r_scalar(&c->r, dtype, 0), *hidden = tc_r_scalar(&c->r, dtype, -INFINITY);
  return tc_r3(&c->r, TC_OP_where, mask, zero, hidden);
}

/* The query over the root of its width, where that is a size of each call. */
static struct tc_value *scaled_query(struct tc_call *c, struct tc_value *query, const struct tc_meta *q) {
  const struct tc_arg width = {TC_ARG_INT, .integer = q->sizes[q->ndim - 1]};
  return tc_r2(&c->r, TC_OP_mul, query, tc_r1(&c->r, TC_OP_rsqrt, tc_call_scalar(c, &width, q->dtype)));
}

struct tc_value *tc_fn_attention(struct tc_call *c) {
  enum { ARG_MASK = 3, ARG_DROPOUT = 4, ARG_CAUSAL = 5, ARG_SCALE = 6 };
  struct tc_value *query = tc_call_tensor(c, 0), *key = tc_call_tensor(c, 1), *value = tc_call_tensor(c, 2);
  const struct tc_meta q = tc_r_meta(&c->r, query);
  struct tc_value *mask = additive_mask(c, tc_call_optional(c, ARG_MASK), q.dtype);
  const double p = probability(c, ARG_DROPOUT, 0);
  const bool causal = tc_call_bool(c, ARG_CAUSAL, false);
  if (c->r.status) return NULL;
  if (mask && causal) return tc_call_fail(c, TC_ARG, "attn_mask and is_causal can not both be given");
  if (q.ndim < 2) return tc_call_fail(c, TC_SHAPE, "query, key and value must have at least 2 dimensions");
  double scale = tc_call_number(c, ARG_SCALE, 0);
  const bool by_width = !tc_call_given(c, ARG_SCALE), symbolic = !tc_sym_is_const(q.sizes[q.ndim - 1]);
  if (by_width && symbolic && q.dtype != TC_BF16)
    query = scaled_query(c, query, &q), scale = 1; /* bf16 would round the query */
  else if (by_width)
    scale = 1 / sqrt((double)tc_call_constant(c, q.sizes[q.ndim - 1]));
  if (p > 0) {
    struct tc_value *weights = tc_attention_weights(&c->r, query, key, mask, causal, scale);
    return tc_r2(&c->r, TC_OP_matmul, tc_call_dropout(c, weights, p), value);
  }
  struct tc_value *const in[] = {query, key, value, mask};
  const tc_sym ints[] = {tc_sym_const(causal)};
  const double nums[] = {scale};
  return tc_rn(&c->r, TC_OP_sdpa, mask ? 4 : 3, in, &(struct tc_attrs){ints, 1, nums, 1});
}
