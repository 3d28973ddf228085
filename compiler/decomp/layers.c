/* Decompositions of layers: layer_norm, rms_norm, linear, attention. */
#include <string.h>

#include "decomp/rules.h"
#include "ops/attention.h"

/* The normalised dimensions are the last ones. */
static struct tc_dims last_dims(struct tc_rule *r, struct tc_value *x, const struct tc_attrs *attrs) {
  const int ndim = tc_r_meta(r, x).ndim;
  struct tc_dims dims = {.count = (int)tc_attr_int(attrs, 0)};
  for (int i = 0; i < dims.count; i++) dims.dims[i] = ndim - dims.count + i;
  return dims;
}

/* x / √(power + eps), where power is the mean of x². */
static struct tc_value *scale_to_unit(struct tc_rule *r, struct tc_value *x, struct tc_value *power,
                                      double eps) {
  struct tc_value *safe = tc_r2(r, TC_OP_add, power, tc_r_scalar(r, tc_r_meta(r, power).dtype, eps));
  return tc_r2(r, TC_OP_mul, x, tc_r1(r, TC_OP_rsqrt, safe));
}

/* The weight and the bias that follow x among the operands. */
static struct tc_value *apply_affine(struct tc_rule *r, struct tc_value *x, tc_dtype wide,
                                     struct tc_value *const *in, const struct tc_attrs *attrs) {
  int next = 1;
  if (!tc_sym_is(attrs->ints[1], 0)) x = tc_r2(r, TC_OP_mul, x, tc_r_cast(r, in[next++], wide));
  if (!tc_sym_is(attrs->ints[2], 0)) x = tc_r2(r, TC_OP_add, x, tc_r_cast(r, in[next++], wide));
  return x;
}

struct tc_value *tc_decomp_layer_norm(struct tc_rule *r, int n_in, struct tc_value *const *in,
                                      const struct tc_attrs *attrs) {
  (void)n_in;
  const struct tc_wide x = tc_widen(r, in[0]);
  const struct tc_dims dims = last_dims(r, in[0], attrs);
  const struct tc_moments moments = tc_moments_over(r, x.value, &dims);
  struct tc_value *power = tc_r2(r, TC_OP_div, moments.squares, tc_reduced_count(r, x.value, &dims, x.wide));
  struct tc_value *unit = scale_to_unit(r, tc_r2(r, TC_OP_sub, x.value, moments.mean), power, attrs->nums[0]);
  return tc_r_cast(r, apply_affine(r, unit, x.wide, in, attrs), x.narrow);
}

struct tc_value *tc_decomp_rms_norm(struct tc_rule *r, int n_in, struct tc_value *const *in,
                                    const struct tc_attrs *attrs) {
  (void)n_in;
  const struct tc_wide x = tc_widen(r, in[0]);
  const struct tc_dims dims = last_dims(r, in[0], attrs);
  struct tc_value *power = tc_mean_over(r, tc_r2(r, TC_OP_mul, x.value, x.value), &dims, true);
  struct tc_value *unit = scale_to_unit(r, x.value, power, attrs->nums[0]);
  return tc_r_cast(r, apply_affine(r, unit, x.wide, in, attrs), x.narrow);
}

static struct tc_value *reshape(struct tc_rule *r, struct tc_value *x, int ndim, const tc_sym *sizes) {
  return tc_rn(r, TC_OP_reshape, 1, &x, &(struct tc_attrs){sizes, ndim, NULL, 0});
}

/* One product of two matrices, whatever the rank of x: its leading dimensions are one on the way. */
struct tc_value *tc_decomp_linear(struct tc_rule *r, int n_in, struct tc_value *const *in,
                                  const struct tc_attrs *attrs) {
  (void)attrs;
  const struct tc_meta meta = tc_r_meta(r, in[0]), weight = tc_r_meta(r, in[1]);
  if (r->status) return NULL;
  const tc_sym swapped[] = {tc_sym_const(1), tc_sym_const(0)};
  tc_sym rows = tc_sym_const(1), sizes[TC_MAX_DIMS];
  for (int d = 0; d < meta.ndim - 1; d++) rows = tc_sym_mul(r->b->tab, rows, meta.sizes[d]);
  const tc_sym flat[] = {rows, meta.sizes[meta.ndim - 1]};
  struct tc_value *x = meta.ndim == 2 ? in[0] : reshape(r, in[0], 2, flat);
  struct tc_value *transposed = tc_rn(r, TC_OP_permute, 1, &in[1], &(struct tc_attrs){swapped, 2, NULL, 0});
  struct tc_value *out = tc_r2(r, TC_OP_matmul, x, transposed);
  if (n_in == 3) out = tc_r2(r, TC_OP_add, out, in[2]);
  if (meta.ndim == 2) return out;
  memcpy(sizes, meta.sizes, sizeof sizes);
  sizes[meta.ndim - 1] = weight.sizes[0];
  return reshape(r, out, meta.ndim, sizes);
}

struct tc_value *tc_decomp_sdpa(struct tc_rule *r, int n_in, struct tc_value *const *in,
                                const struct tc_attrs *attrs) {
  const bool causal = !tc_sym_is(attrs->ints[0], 0);
  struct tc_value *weights =
      tc_attention_weights(r, in[0], in[1], n_in == 4 ? in[3] : NULL, causal, attrs->nums[0]);
  return tc_r2(r, TC_OP_matmul, weights, in[2]);
}
