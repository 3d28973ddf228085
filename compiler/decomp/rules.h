/* The decomposition rules that ops.def names: `rule` there is tc_decomp_rule here. Private to decomp/.
 *
 * A rule gives a value of the dtype and shape that inference gave the operation. Its arithmetic is in
 * the accumulation dtype (bf16 → f32): it casts up, computes, and casts down at the end. It states the
 * order of what it emits: one statement a step where a call has two operands that emit, since C
 * leaves the order of arguments open and equal graphs are to have equal text. */
#ifndef TC_DECOMP_RULES_H
#define TC_DECOMP_RULES_H

#include "decomp/decomp.h"

#define TC_DECOMP_RULE(name)                                                                                 \
  struct tc_value *tc_decomp_##name(struct tc_rule *r, int n_in, struct tc_value *const *in,                 \
                                    const struct tc_attrs *attrs);
TC_DECOMP_RULE(gelu)
TC_DECOMP_RULE(gelu_tanh)
TC_DECOMP_RULE(silu)
TC_DECOMP_RULE(softplus)
TC_DECOMP_RULE(mean)
TC_DECOMP_RULE(var)
TC_DECOMP_RULE(softmax)
TC_DECOMP_RULE(log_softmax)
TC_DECOMP_RULE(logsumexp)
TC_DECOMP_RULE(layer_norm)
TC_DECOMP_RULE(rms_norm)
TC_DECOMP_RULE(linear)
TC_DECOMP_RULE(sdpa)

/* An operand in the dtype that its arithmetic is done in. */
struct tc_wide {
  struct tc_value *value;
  tc_dtype narrow, wide;
};
static inline struct tc_wide tc_widen(struct tc_rule *r, struct tc_value *x) {
  struct tc_wide w = {.narrow = tc_r_meta(r, x).dtype};
  w.wide = tc_dtype_accumulate(w.narrow);
  w.value = tc_r_cast(r, x, w.wide);
  return w;
}

/* Dimensions of a reduction. */
struct tc_dims {
  int count, dims[TC_MAX_DIMS];
};
/* From ints = keepdim, dims…. */
struct tc_dims tc_dims_of_attrs(const struct tc_attrs *attrs);
/* How many elements the dimensions hold, as a constant or (symbolic sizes) a computed scalar. */
struct tc_value *tc_reduced_count(struct tc_rule *r, struct tc_value *x, const struct tc_dims *dims,
                                  tc_dtype dtype);
/* Sum over dims ÷ count; dims of the operand, kept or not. */
struct tc_value *tc_mean_over(struct tc_rule *r, struct tc_value *x, const struct tc_dims *dims,
                              bool keepdim);

/* The mean of x over dims, and the sum of the squares of the distances from it, both with dims kept. */
struct tc_moments {
  struct tc_value *mean, *squares;
};
struct tc_moments tc_moments_over(struct tc_rule *r, struct tc_value *x, const struct tc_dims *dims);

#endif
