/* Decompositions of pointwise operations. */
#include "decomp/rules.h"

/* x / 2 · (1 + of), where `of` was computed from x. */
static struct tc_value *half_gate(struct tc_rule *r, const struct tc_wide *x, struct tc_value *of) {
  struct tc_value *one = tc_r_scalar(r, x->wide, 1), *half = tc_r_scalar(r, x->wide, 0.5);
  struct tc_value *gate = tc_r2(r, TC_OP_add, of, one);
  struct tc_value *halved = tc_r2(r, TC_OP_mul, x->value, half);
  return tc_r_cast(r, tc_r2(r, TC_OP_mul, halved, gate), x->narrow);
}

/* x · Φ(x) = x / 2 · (1 + erf(x / √2)) */
struct tc_value *tc_decomp_gelu(struct tc_rule *r, int n_in, struct tc_value *const *in,
                                const struct tc_attrs *attrs) {
  (void)n_in, (void)attrs;
  static const double sqrt_half = 0.70710678118654752440;
  const struct tc_wide x = tc_widen(r, in[0]);
  return half_gate(r, &x,
                   tc_r1(r, TC_OP_erf, tc_r2(r, TC_OP_mul, x.value, tc_r_scalar(r, x.wide, sqrt_half))));
}

/* x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 · x³))) */
struct tc_value *tc_decomp_gelu_tanh(struct tc_rule *r, int n_in, struct tc_value *const *in,
                                     const struct tc_attrs *attrs) {
  (void)n_in, (void)attrs;
  static const double cubic = 0.044715, sqrt_two_over_pi = 0.79788456080286535588;
  const struct tc_wide x = tc_widen(r, in[0]);
  struct tc_value *square = tc_r2(r, TC_OP_mul, x.value, x.value);
  struct tc_value *cube = tc_r2(r, TC_OP_mul, square, x.value);
  struct tc_value *bent = tc_r2(r, TC_OP_mul, cube, tc_r_scalar(r, x.wide, cubic));
  struct tc_value *inner = tc_r2(r, TC_OP_add, x.value, bent);
  struct tc_value *scaled = tc_r2(r, TC_OP_mul, inner, tc_r_scalar(r, x.wide, sqrt_two_over_pi));
  return half_gate(r, &x, tc_r1(r, TC_OP_tanh, scaled));
}

struct tc_value *tc_decomp_silu(struct tc_rule *r, int n_in, struct tc_value *const *in,
                                const struct tc_attrs *attrs) {
  (void)n_in, (void)attrs;
  const struct tc_wide x = tc_widen(r, in[0]);
  return tc_r_cast(r, tc_r2(r, TC_OP_mul, x.value, tc_r1(r, TC_OP_sigmoid, x.value)), x.narrow);
}

/* log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)); above 20 it is x. */
struct tc_value *tc_decomp_softplus(struct tc_rule *r, int n_in, struct tc_value *const *in,
                                    const struct tc_attrs *attrs) {
  (void)n_in, (void)attrs;
  enum { THRESHOLD = 20 };
  const struct tc_wide x = tc_widen(r, in[0]);
  struct tc_value *small = tc_r1(r, TC_OP_exp, tc_r1(r, TC_OP_neg, tc_r1(r, TC_OP_abs, x.value)));
  struct tc_value *tail = tc_r1(r, TC_OP_log1p, small);
  struct tc_value *soft = tc_r2(r, TC_OP_add, tc_r1(r, TC_OP_relu, x.value), tail);
  struct tc_value *above = tc_r2(r, TC_OP_gt, x.value, tc_r_scalar(r, x.wide, THRESHOLD));
  return tc_r_cast(r, tc_r3(r, TC_OP_where, above, x.value, soft), x.narrow);
}
