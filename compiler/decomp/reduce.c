/* Decompositions of reductions: mean, var, softmax and its relatives. */
#include "decomp/rules.h"

struct tc_dims tc_dims_of_attrs(const struct tc_attrs *attrs) {
  struct tc_dims dims = {.count = attrs->n_ints - 1};
  for (int i = 0; i < dims.count; i++) dims.dims[i] = (int)tc_attr_int(attrs, i + 1);
  return dims;
}

static bool keeps_dims(const struct tc_attrs *attrs) { return !tc_sym_is(attrs->ints[0], 0); }

static tc_sym count_of(struct tc_rule *r, struct tc_value *x, const struct tc_dims *dims) {
  const struct tc_meta meta = tc_r_meta(r, x);
  tc_sym count = tc_sym_const(1);
  for (int i = 0; i < dims->count; i++) count = tc_sym_mul(r->b->tab, count, meta.sizes[dims->dims[i]]);
  return count;
}

struct tc_value *tc_reduced_count(struct tc_rule *r, struct tc_value *x, const struct tc_dims *dims,
                                  tc_dtype dtype) {
  const tc_sym count = count_of(r, x, dims);
  if (tc_sym_is_const(count)) return tc_r_scalar(r, dtype, (double)tc_sym_value(count));
  const tc_sym ints[] = {tc_sym_const(TC_I64), count};
  const double nums[] = {0};
  return tc_r_cast(r, tc_rn(r, TC_OP_full, 0, NULL, &(struct tc_attrs){ints, 2, nums, 1}), dtype);
}

struct tc_value *tc_mean_over(struct tc_rule *r, struct tc_value *x, const struct tc_dims *dims,
                              bool keepdim) {
  struct tc_value *total = tc_r_reduce(r, TC_OP_sum, x, dims->count, dims->dims, keepdim);
  return tc_r2(r, TC_OP_div, total, tc_reduced_count(r, x, dims, tc_r_meta(r, total).dtype));
}

struct tc_value *tc_decomp_mean(struct tc_rule *r, int n_in, struct tc_value *const *in,
                                const struct tc_attrs *attrs) {
  (void)n_in;
  const struct tc_wide x = tc_widen(r, in[0]);
  const struct tc_dims dims = tc_dims_of_attrs(attrs);
  return tc_r_cast(r, tc_mean_over(r, x.value, &dims, keeps_dims(attrs)), x.narrow);
}

static struct tc_value *drop_dims(struct tc_rule *r, struct tc_value *x, const struct tc_dims *dims) {
  tc_sym ints[TC_MAX_DIMS];
  if (dims->count == 0) return x;
  for (int i = 0; i < dims->count; i++) ints[i] = tc_sym_const(dims->dims[i]);
  return tc_rn(r, TC_OP_squeeze, 1, &x, &(struct tc_attrs){ints, dims->count, NULL, 0});
}

/* Two passes. The sum is rounded, so the mean is off by some `drift`, which the second pass sees as the mean
 * of the distances: it takes drift² out of their squares again (unless those overflow), so that a large mean
 * does not cost digits of a small variance. */
struct tc_moments tc_moments_over(struct tc_rule *r, struct tc_value *x, const struct tc_dims *dims) {
  struct tc_value *mean = tc_mean_over(r, x, dims, true);
  struct tc_value *distance = tc_r2(r, TC_OP_sub, x, mean);
  struct tc_value *squares =
      tc_r_reduce(r, TC_OP_sum, tc_r2(r, TC_OP_mul, distance, distance), dims->count, dims->dims, true);
  struct tc_value *off = tc_r_reduce(r, TC_OP_sum, distance, dims->count, dims->dims, true);
  struct tc_value *drift = tc_r2(r, TC_OP_div, off, tc_reduced_count(r, x, dims, tc_r_meta(r, off).dtype));
  struct tc_value *nearer =
      tc_r1(r, TC_OP_relu, tc_r2(r, TC_OP_sub, squares, tc_r2(r, TC_OP_mul, off, drift)));
  struct tc_value *overflows = tc_r1(r, TC_OP_isinf, squares);
  struct tc_value *exact_mean = tc_r2(r, TC_OP_add, mean, drift);
  return (struct tc_moments){exact_mean, tc_r3(r, TC_OP_where, overflows, squares, nearer)};
}

/* The squares of the distances from the mean, over max(n - correction, 0). */
struct tc_value *tc_decomp_var(struct tc_rule *r, int n_in, struct tc_value *const *in,
                               const struct tc_attrs *attrs) {
  (void)n_in;
  const struct tc_wide x = tc_widen(r, in[0]);
  const struct tc_dims dims = tc_dims_of_attrs(attrs);
  const double correction = attrs->n_nums ? attrs->nums[0] : 1;
  struct tc_value *total = tc_moments_over(r, x.value, &dims).squares;
  const tc_sym count = count_of(r, x.value, &dims);
  struct tc_value *divisor;
  if (!keeps_dims(attrs)) total = drop_dims(r, total, &dims);
  if (tc_sym_is_const(count)) {
    const double freedom = (double)tc_sym_value(count) - correction;
    divisor = tc_r_scalar(r, x.wide, freedom > 0 ? freedom : 0);
  } else {
    divisor = tc_reduced_count(r, x.value, &dims, x.wide);
    divisor = tc_r2(r, TC_OP_sub, divisor, tc_r_scalar(r, x.wide, correction));
    divisor = tc_r2(r, TC_OP_maximum, divisor, tc_r_scalar(r, x.wide, 0));
  }
  return tc_r_cast(r, tc_r2(r, TC_OP_div, total, divisor), x.narrow);
}

/* ---- softmax ---- */

/* x less its largest element along the dimensions, so that exp can not overflow. */
static struct tc_value *shifted(struct tc_rule *r, struct tc_value *x, const struct tc_dims *dims) {
  return tc_r2(r, TC_OP_sub, x, tc_r_reduce(r, TC_OP_amax, x, dims->count, dims->dims, true));
}

static struct tc_dims dim_along(struct tc_rule *r, struct tc_value *x, const struct tc_attrs *attrs) {
  struct tc_dims dims = {.count = tc_r_meta(r, x).ndim ? 1 : 0};
  dims.dims[0] = (int)tc_attr_int(attrs, 0);
  return dims;
}

static bool is_empty(struct tc_rule *r, struct tc_value *x, const struct tc_dims *dims) {
  return tc_sym_is(count_of(r, x, dims), 0);
}

struct tc_value *tc_decomp_softmax(struct tc_rule *r, int n_in, struct tc_value *const *in,
                                   const struct tc_attrs *attrs) {
  (void)n_in;
  const struct tc_dims dims = dim_along(r, in[0], attrs);
  if (is_empty(r, in[0], &dims)) return tc_r1(r, TC_OP_clone, in[0]);
  const struct tc_wide x = tc_widen(r, in[0]);
  struct tc_value *exps = tc_r1(r, TC_OP_exp, shifted(r, x.value, &dims));
  struct tc_value *total = tc_r_reduce(r, TC_OP_sum, exps, dims.count, dims.dims, true);
  return tc_r_cast(r, tc_r2(r, TC_OP_div, exps, total), x.narrow);
}

struct tc_value *tc_decomp_log_softmax(struct tc_rule *r, int n_in, struct tc_value *const *in,
                                       const struct tc_attrs *attrs) {
  (void)n_in;
  const struct tc_dims dims = dim_along(r, in[0], attrs);
  if (is_empty(r, in[0], &dims)) return tc_r1(r, TC_OP_clone, in[0]);
  const struct tc_wide x = tc_widen(r, in[0]);
  struct tc_value *down = shifted(r, x.value, &dims);
  struct tc_value *total = tc_r_reduce(r, TC_OP_sum, tc_r1(r, TC_OP_exp, down), dims.count, dims.dims, true);
  return tc_r_cast(r, tc_r2(r, TC_OP_sub, down, tc_r1(r, TC_OP_log, total)), x.narrow);
}

static struct tc_value *log_sum(struct tc_rule *r, struct tc_value *x, const struct tc_dims *dims,
                                bool keepdim) {
  return tc_r1(r, TC_OP_log,
               tc_r_reduce(r, TC_OP_sum, tc_r1(r, TC_OP_exp, x), dims->count, dims->dims, keepdim));
}

/* m + log(sum(exp(x - m))) with m the largest element; an infinite m counts as 0, so that ∞ - ∞ does not
 * arise. */
struct tc_value *tc_decomp_logsumexp(struct tc_rule *r, int n_in, struct tc_value *const *in,
                                     const struct tc_attrs *attrs) {
  (void)n_in;
  const struct tc_wide x = tc_widen(r, in[0]);
  const struct tc_dims dims = tc_dims_of_attrs(attrs);
  const bool keepdim = keeps_dims(attrs);
  if (is_empty(r, x.value, &dims)) return tc_r_cast(r, log_sum(r, x.value, &dims, keepdim), x.narrow);
  struct tc_value *largest = tc_r_reduce(r, TC_OP_amax, x.value, dims.count, dims.dims, true);
  struct tc_value *infinite = tc_r1(r, TC_OP_isinf, largest);
  struct tc_value *shift = tc_r3(r, TC_OP_where, infinite, tc_r_scalar(r, x.wide, 0), largest);
  struct tc_value *rest = log_sum(r, tc_r2(r, TC_OP_sub, x.value, shift), &dims, keepdim);
  if (!keepdim) shift = drop_dims(r, shift, &dims);
  return tc_r_cast(r, tc_r2(r, TC_OP_add, rest, shift), x.narrow);
}
