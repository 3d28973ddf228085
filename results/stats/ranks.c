/* Rank estimates. Invariants:
 * 1. A p is never below what the exact distribution gives: where it is approximated, with continuity
 *    correction.
 * 2. Interval and p agree: the interval at 1 - a excludes a shift exactly if its p is at most a (no ties).
 * Distributions are built up to the sum that is asked for, and no farther. */
#include "results/stats/ranks.h"

#include <math.h>
#include <stdlib.h>

enum { SIGNED_EXACT_MAX = 100, SUM_EXACT_MAX = 20 /* counts of U stay below 2^53, so that they are exact */ };

double tb_select(double *values, size_t count, size_t k) {
  size_t low = 0, high = count - 1;
  while (low < high) {
    const double pivot = values[low + (high - low) / 2];
    size_t i = low, j = high;
    for (;;) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i >= j) break;
      const double kept = values[i];
      values[i++] = values[j];
      values[j--] = kept;
    }
    /* Up to `split`: at most the pivot; behind it: at least. */
    const size_t split = values[j] <= pivot ? j : j - 1;
    if (k <= split)
      high = split;
    else
      low = split + 1;
  }
  return values[k];
}

/* --- distributions --- */

/* P(Z <= z). */
static double normal(double z) { return erfc(-z / sqrt(2)) / 2; }

/* P(sum of the ranks drawn with a fair coin each <= limit), for whole `ranks`; *probability has limit + 1
 * items of room. */
static double coin_sums(const size_t *ranks, size_t count, size_t limit, double *probability) {
  size_t reach = 0;
  for (size_t s = 0; s <= limit; s++) probability[s] = 0;
  probability[0] = 1;
  for (size_t r = 0; r < count; r++) {
    reach = reach + ranks[r] < limit ? reach + ranks[r] : limit;
    for (size_t s = reach + 1; s-- > ranks[r];)
      probability[s] = (probability[s] + probability[s - ranks[r]]) / 2;
    for (size_t s = 0; s < ranks[r] && s <= reach; s++) probability[s] /= 2;
  }
  double sum = 0;
  for (size_t s = 0; s <= limit; s++) sum += probability[s];
  return sum;
}

/* Counts of U = 0 … limit: the Gaussian binomial, (1 - q^(b+1)) … (1 - q^(b+a)) / ((1 - q) … (1 - q^a)).
 * Returns how many there are in all. */
static double u_counts(size_t a, size_t b, size_t limit, double *counts) {
  double all = 1;
  for (size_t u = 0; u <= limit; u++) counts[u] = 0;
  counts[0] = 1;
  for (size_t i = 1; i <= a; i++) {
    for (size_t u = limit + 1; u-- > b + i;) counts[u] -= counts[u - b - i];
    for (size_t u = i; u <= limit; u++) counts[u] += counts[u - i];
    all = all * (double)(b + i) / (double)i;
  }
  return all;
}

/* How many of the lowest `steps + 1` probabilities sum up to `share` at most. */
static size_t count_within(const double *probability, size_t steps, double scale, double share) {
  double sum = 0;
  for (size_t i = 0; i <= steps; i++) {
    sum += probability[i] / scale;
    if (sum > share) return i;
  }
  return steps + 1;
}

static size_t normal_within(double mean, double deviation, double share) {
  size_t low = 0, high = (size_t)mean + 1; /* the number wanted is in low … high */
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (normal(((double)middle + 0.5 - mean) / deviation) <= share)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Order statistics `cut` from either end of `count` values, and the median; false: there is nothing to
 * cut. */
static bool between(double *values, size_t count, size_t cut, struct tb_interval *out) {
  if (!cut || 2 * cut > count + 1) return false;
  out->lo = tb_select(values, count, cut - 1);
  out->hi = tb_select(values, count, count - cut);
  out->centre = (tb_select(values, count, (count - 1) / 2) + tb_select(values, count, count / 2)) / 2;
  return true;
}

/* --- one sample --- */

/* Number of rank sums, from 0 up, that together are at most `share` likely. */
static bool signed_cut(size_t count, double share, size_t *cut) {
  const size_t half = count * (count + 1) / 4;
  if (count > SIGNED_EXACT_MAX) {
    const double n = (double)count;
    *cut = normal_within(n * (n + 1) / 4, sqrt(n * (n + 1) * (2 * n + 1) / 24), share);
    return true;
  }
  size_t ranks[SIGNED_EXACT_MAX];
  for (size_t i = 0; i < count; i++) ranks[i] = i + 1;
  double *probability = malloc((half + 1) * sizeof *probability);
  if (!probability) return false;
  coin_sums(ranks, count, half, probability);
  *cut = count_within(probability, half, 1, share);
  free(probability);
  return true;
}

bool tb_signed_rank_interval(const double *values, size_t count, double confidence, struct tb_interval *out) {
  const size_t walsh_count = count * (count + 1) / 2;
  size_t cut = 0, next = 0;
  if (!count || !signed_cut(count, (1 - confidence) / 2, &cut)) return false;
  double *walsh = malloc(walsh_count * sizeof *walsh);
  if (!walsh) return false;
  for (size_t i = 0; i < count; i++)
    for (size_t j = i; j < count; j++) walsh[next++] = values[i] + (values[j] - values[i]) / 2;
  const bool good = between(walsh, walsh_count, cut, out);
  free(walsh);
  return good;
}

struct ranked {
  double size;
  size_t index, rank2;
};

static int by_size(const void *a, const void *b) {
  const double x = ((const struct ranked *)a)->size, y = ((const struct ranked *)b)->size;
  return (x > y) - (x < y);
}

/* Twice the middle ranks by size, whole numbers therefore. */
static void rank_twice(struct ranked *items, size_t count) {
  qsort(items, count, sizeof *items, by_size);
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && items[end].size == items[i].size;) end++;
    for (size_t k = i; k < end; k++) items[k].rank2 = i + end + 1;
  }
}

/* P(the coin's sum is at most `low`). */
static double coin_tail(const size_t *ranks, size_t count, size_t all, size_t low) {
  double square = 0;
  if (low >= all) return 1;
  if (count > SIGNED_EXACT_MAX) {
    for (size_t i = 0; i < count; i++) square += (double)ranks[i] * (double)ranks[i];
    return normal(((double)low + 1 - (double)all / 2) /
                  sqrt(square / 4)); /* doubled ranks: steps of 2, half of one is 1 */
  }
  double *probability = malloc((low + 1) * sizeof *probability);
  if (!probability) return NAN;
  const double tail = coin_sums(ranks, count, low, probability);
  free(probability);
  return fmin(tail, 1);
}

double tb_signed_rank_p(const double *values, size_t count, enum tb_side side) {
  struct ranked *items = count ? malloc(count * sizeof *items) : NULL;
  size_t *ranks = count ? malloc(count * sizeof *ranks) : NULL, n = 0, positive = 0, all = 0;
  double p = NAN;
  if (!items || !ranks) goto done;
  for (size_t i = 0; i < count; i++) items[i] = (struct ranked){.size = fabs(values[i]), .index = i};
  rank_twice(items, count);
  for (size_t i = 0; i < count; i++) {
    if (items[i].size == 0) continue;
    ranks[n++] = items[i].rank2;
    all += items[i].rank2;
    if (values[items[i].index] > 0) positive += items[i].rank2;
  }
  const size_t negative = all - positive;
  if (side == TB_BOTH_SIDES)
    p = fmin(1, 2 * coin_tail(ranks, n, all, positive < negative ? positive : negative));
  else
    p = coin_tail(ranks, n, all, side == TB_ABOVE ? negative : positive);
done:
  free(items);
  free(ranks);
  return p;
}

/* --- two samples --- */

static double u_deviation(size_t a, size_t b) {
  return sqrt((double)a * (double)b * (double)(a + b + 1) / 12);
}

static bool sum_cut(size_t a, size_t b, double share, size_t *cut) {
  const size_t half = a * b / 2;
  if (a > SUM_EXACT_MAX || b > SUM_EXACT_MAX) {
    *cut = normal_within((double)a * (double)b / 2, u_deviation(a, b), share);
    return true;
  }
  double *counts = malloc((half + 1) * sizeof *counts);
  if (!counts) return false;
  const double all = u_counts(a, b, half, counts);
  *cut = count_within(counts, half, all, share);
  free(counts);
  return true;
}

bool tb_rank_sum_interval(const double *a, size_t a_count, const double *b, size_t b_count, double confidence,
                          struct tb_interval *out) {
  size_t cut = 0;
  if (!a_count || !b_count || !sum_cut(a_count, b_count, (1 - confidence) / 2, &cut)) return false;
  double *shifts = malloc(a_count * b_count * sizeof *shifts);
  if (!shifts) return false;
  for (size_t i = 0; i < a_count; i++)
    for (size_t j = 0; j < b_count; j++) shifts[i * b_count + j] = b[j] - a[i];
  const bool good = between(shifts, a_count * b_count, cut, out);
  free(shifts);
  return good;
}

static double u_tail(size_t a, size_t b, size_t u) {
  if (u >= a * b) return 1;
  if (a > SUM_EXACT_MAX || b > SUM_EXACT_MAX)
    return normal(((double)u + 0.5 - (double)a * (double)b / 2) / u_deviation(a, b));
  double *counts = malloc((u + 1) * sizeof *counts), sum = 0;
  if (!counts) return NAN;
  const double all = u_counts(a, b, u, counts);
  for (size_t i = 0; i <= u; i++) sum += counts[i];
  free(counts);
  return fmin(sum / all, 1);
}

double tb_rank_sum_p(const double *a, size_t a_count, const double *b, size_t b_count, double offset,
                     enum tb_side side) {
  size_t above2 = 0; /* twice the count of b above a + offset, ties once */
  const size_t all2 = 2 * a_count * b_count;
  if (!all2) return NAN;
  for (size_t i = 0; i < a_count; i++)
    for (size_t j = 0; j < b_count; j++) above2 += b[j] - a[i] > offset ? 2 : b[j] - a[i] == offset;
  const size_t below = (all2 - above2 + 1) / 2,
               above = (above2 + 1) / 2; /* halves are rounded towards the middle */
  if (side == TB_BOTH_SIDES) return fmin(1, 2 * u_tail(a_count, b_count, below < above ? below : above));
  return u_tail(a_count, b_count, side == TB_ABOVE ? below : above);
}
