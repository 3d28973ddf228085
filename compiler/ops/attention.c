/* The weights of scaled dot product attention, as operations. */
#include "ops/attention.h"

#include <math.h>

static struct tc_value *transpose_last(struct tc_rule *r, struct tc_value *x) {
  const int ndim = tc_r_meta(r, x).ndim;
  tc_sym dims[TC_MAX_DIMS];
  if (ndim < 2) return NULL;
  for (int d = 0; d < ndim; d++) dims[d] = tc_sym_const(d);
  dims[ndim - 2] = tc_sym_const(ndim - 1);
  dims[ndim - 1] = tc_sym_const(ndim - 2);
  return tc_rn(r, TC_OP_permute, 1, &x, &(struct tc_attrs){dims, ndim, NULL, 0});
}

static struct tc_value *count_up(struct tc_rule *r, tc_sym count) {
  const tc_sym ints[] = {tc_sym_const(TC_I64), count};
  const double nums[] = {0, 1};
  return tc_rn(r, TC_OP_arange, 0, NULL, &(struct tc_attrs){ints, 2, nums, 2});
}

/* -∞ where the key comes after the query. */
static struct tc_value *mask_future(struct tc_rule *r, struct tc_value *scores) {
  const struct tc_meta meta = tc_r_meta(r, scores);
  if (r->status) return NULL;
  const tc_sym last[] = {tc_sym_const(1)};
  struct tc_value *query = count_up(r, meta.sizes[meta.ndim - 2]),
                  *key = count_up(r, meta.sizes[meta.ndim - 1]);
  query = tc_rn(r, TC_OP_unsqueeze, 1, &query, &(struct tc_attrs){last, 1, NULL, 0});
  struct tc_value *seen = tc_r2(r, TC_OP_ge, query, key);
  return tc_r3(r, TC_OP_where, seen, scores, tc_r_scalar(r, meta.dtype, -INFINITY));
}

/* softmax over the keys. A query that sees none (all its scores are -∞) weighs every key with 0, as PyTorch's
 * _safe_softmax has it. */
static struct tc_value *softmax_of_seen(struct tc_rule *r, struct tc_value *scores) {
  const struct tc_meta meta = tc_r_meta(r, scores);
  const tc_dtype wide = tc_dtype_accumulate(meta.dtype);
  const int keys = meta.ndim - 1;
  const tc_sym along[] = {tc_sym_const(keys)};
  if (r->status) return NULL;
  if (tc_sym_is(meta.sizes[keys], 0))
    return tc_rn(r, TC_OP_softmax, 1, &scores, &(struct tc_attrs){along, 1, NULL, 0});
  struct tc_value *x = tc_r_cast(r, scores, wide);
  struct tc_value *largest = tc_r_reduce(r, TC_OP_amax, x, 1, &keys, true);
  struct tc_value *blind = tc_r2(r, TC_OP_eq, largest, tc_r_scalar(r, wide, -INFINITY));
  struct tc_value *shift = tc_r3(r, TC_OP_where, blind, tc_r_scalar(r, wide, 0), largest);
  struct tc_value *exps = tc_r1(r, TC_OP_exp, tc_r2(r, TC_OP_sub, x, shift));
  struct tc_value *total = tc_r_reduce(r, TC_OP_sum, exps, 1, &keys, true);
  struct tc_value *divisor = tc_r3(r, TC_OP_where, blind, tc_r_scalar(r, wide, 1), total);
  return tc_r_cast(r, tc_r2(r, TC_OP_div, exps, divisor), meta.dtype);
}

struct tc_value *tc_attention_weights(struct tc_rule *r, struct tc_value *q, struct tc_value *k,
                                      struct tc_value *mask, bool causal, double scale) {
  struct tc_value *scores = tc_r2(r, TC_OP_matmul, q, transpose_last(r, k));
  const struct tc_meta meta = tc_r_meta(r, scores);
  if (r->status) return NULL;
  scores = tc_r2(r, TC_OP_mul, scores, tc_r_scalar(r, meta.dtype, scale));
  if (mask) scores = tc_r2(r, TC_OP_add, scores, mask);
  if (causal) scores = mask_future(r, scores);
  return softmax_of_seen(r, scores);
}
