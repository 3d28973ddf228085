/* Statistics. The t quantile is found by bisection over the regularised incomplete beta function, which is
 * summed by its continued fraction (modified Lentz). */
#include "results/stats/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FRACTION_TERMS = 300, BISECTIONS = 200 };
static const double fraction_end = 1e-15, fraction_tiny = 1e-300, flip_slack = 1e-12;

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double tb_quantile(const double *values, size_t count, double q) {
  double *sorted = count ? malloc(count * sizeof *sorted) : NULL;
  if (!sorted) return NAN;
  memcpy(sorted, values, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, by_value);
  const double at = q * (double)(count - 1);
  const size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
  const double result = sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
  free(sorted);
  return result;
}

struct weighed {
  double value, weight;
};

static int by_weighed_value(const void *a, const void *b) {
  return by_value(&((const struct weighed *)a)->value, &((const struct weighed *)b)->value);
}

/* Value k (from 0, sorted) stands at k w_k + (n - 1) (w_0 + ... + w_(k-1)), as a share of where the last one
 * stands; between, a line. */
double tb_weighted_quantile(const double *values, const double *weights, size_t count, double q) {
  struct weighed *sorted = count ? malloc(count * sizeof *sorted) : NULL;
  double before = 0, all = 0;
  if (!sorted) return NAN;
  for (size_t i = 0; i < count; i++) sorted[i] = (struct weighed){values[i], weights[i]};
  qsort(sorted, count, sizeof *sorted, by_weighed_value);
  const double steps = (double)(count - 1);
  for (size_t i = 0; i + 1 < count; i++) all += sorted[i].weight;
  const double at = q * steps * (sorted[count - 1].weight + all);
  double result = sorted[0].value, place = 0;
  for (size_t k = 1; k < count && place < at; k++) {
    before += sorted[k - 1].weight;
    const double next = (double)k * sorted[k].weight + steps * before,
                 share = next > at ? (at - place) / (next - place) : 1;
    result = sorted[k - 1].value + share * (sorted[k].value - sorted[k - 1].value);
    place = next;
  }
  free(sorted);
  return result;
}

double tb_median(const double *values, size_t count) { return tb_quantile(values, count, 0.5); }

double tb_mean(const double *values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += values[i];
  return count ? sum / (double)count : NAN;
}

double tb_deviation(const double *values, size_t count) {
  if (count < 2) return NAN;
  const double mean = tb_mean(values, count);
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += (values[i] - mean) * (values[i] - mean);
  return sqrt(sum / (double)(count - 1));
}

static double away_from_zero(double x) { return fabs(x) < fraction_tiny ? fraction_tiny : x; }

/* Continued fraction of the incomplete beta function, for x below (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x) {
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), result = d;
  for (int i = 1; i <= FRACTION_TERMS; i++) {
    const double m = i;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    result *= d * c;
    if (fabs(d * c - 1) < fraction_end) break;
  }
  return result;
}

/* Regularised incomplete beta function. */
static double beta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                   : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

static double t_distribution(double t, double freedom) {
  const double tail = beta(freedom / 2, 0.5, freedom / (freedom + t * t)) / 2;
  return t > 0 ? 1 - tail : tail;
}

double tb_t_quantile(double p, double freedom) {
  if (!(p > 0 && p < 1 && freedom > 0)) return NAN;
  if (p == 0.5) return 0;
  if (p < 0.5) return -tb_t_quantile(1 - p, freedom);
  double low = 0, high = 1;
  while (t_distribution(high, freedom) < p && isfinite(high)) high *= 2;
  for (int i = 0; i < BISECTIONS && high > low; i++) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    if (t_distribution(middle, freedom) < p)
      low = middle;
    else
      high = middle;
  }
  return low + (high - low) / 2;
}

double tb_t_p(double t, double freedom) {
  return isnan(t) || !(freedom > 0) ? NAN : beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double tb_half_width(const double *values, size_t count, double confidence) {
  if (count < 2) return NAN;
  return tb_t_quantile(0.5 + confidence / 2, (double)(count - 1)) * tb_deviation(values, count) /
         sqrt((double)count);
}

/* All 2^count sums with signs, sorted. A value more merges two sorted lists: those so far less it, and those
 * so far with it. NULL: no memory. */
static double *sorted_sums(const double *values, size_t count) {
  double *sums = malloc(sizeof *sums << count), *before = malloc(count ? sizeof *before << (count - 1) : 1);
  if (sums && before) sums[0] = 0;
  for (size_t i = 0; i < count && sums && before; i++) {
    const size_t n = (size_t)1 << i;
    const double x = fabs(values[i]);
    memcpy(before, sums, n * sizeof *sums);
    for (size_t less = 0, more = 0; more < n;) {
      const bool take_less = less < n && before[less] - x <= before[more] + x;
      sums[less + more] = take_less ? before[less] - x : before[more] + x;
      if (take_less)
        less++;
      else
        more++;
    }
  }
  if (!before) free(sums);
  const bool good = before != NULL;
  free(before);
  return good ? sums : NULL;
}

/* How many sums of one of each list are at least `bound`. */
static double count_from(const double *some, size_t n_some, const double *others, size_t n_others,
                         double bound) {
  double count = 0;
  for (size_t i = 0, fitting = 0; i < n_some;
       i++) { /* as those of `some` grow, more of the others reach the bound */
    while (fitting < n_others && some[i] + others[n_others - 1 - fitting] >= bound) fitting++;
    count += (double)fitting;
  }
  return count;
}

/* Meets in the middle: sums of one half of the values with sums of the other. */
double tb_sign_flip_p(const double *values, size_t count) {
  if (count < TB_SIGN_FLIP_MIN || count > TB_SIGN_FLIP_MAX) return NAN;
  double observed = 0, scale = 0;
  for (size_t i = 0; i < count; i++) {
    observed += values[i];
    scale += fabs(values[i]);
  }
  const double bound = fabs(observed) - flip_slack * scale;
  const size_t half = count / 2, rest = count - half;
  if (!isfinite(scale)) return NAN;
  if (bound <= 0) return 1;
  double *first = sorted_sums(values, half), *second = sorted_sums(values + half, rest);
  /* Turning all signs turns a sum, so as many are at most -bound. */
  const double as_far =
      first && second ? 2 * count_from(first, (size_t)1 << half, second, (size_t)1 << rest, bound) : NAN;
  free(first);
  free(second);
  return as_far / exp2((double)count);
}
