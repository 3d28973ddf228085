/* Statistics. Pure functions of arrays; nothing is changed or kept. NaN where a figure is not defined (no
 * samples, one sample for an interval). Times may have any unit. */
#ifndef TB_STATS_H
#define TB_STATS_H

#include <stddef.h>

/* Quantile q of 0…1 by linear interpolation between order statistics. NaN when count is 0 or memory is
 * out. */
double tb_quantile(const double *values, size_t count, double q);
/* The same where values weigh differently: quantile q of the distribution in which value i has weights[i] (>
 * 0). Equal weights give tb_quantile. */
double tb_weighted_quantile(const double *values, const double *weights, size_t count, double q);
double tb_median(const double *values, size_t count);
double tb_mean(const double *values, size_t count);
/* Sample standard deviation (n - 1). */
double tb_deviation(const double *values, size_t count);

/* Quantile p of Student's t with `freedom` degrees: t such that P(T <= t) = p. */
double tb_t_quantile(double p, double freedom);
/* P(|T| >= |t|): the two-sided p of a t test. */
double tb_t_p(double t, double freedom);
/* Half-width of the two-sided t interval of the mean, at `confidence` (0.95). NaN for fewer than 2 values. */
double tb_half_width(const double *values, size_t count, double confidence);

enum { TB_SIGN_FLIP_MIN = 6, TB_SIGN_FLIP_MAX = 40 };
/* Exact sign-flip test of mean 0: the share of all 2^n assignments of signs whose mean is as far from 0 as
 * the one observed, or farther (sums that differ by less than rounding are ties, and count). Takes 2^(n/2)
 * steps and as much memory: 24 MiB for 40. NaN outside of TB_SIGN_FLIP_MIN … TB_SIGN_FLIP_MAX values, or
 * without memory. */
double tb_sign_flip_p(const double *values, size_t count);

#endif
