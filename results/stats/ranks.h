/* Estimates and tests by ranks: exact under symmetry (one sample) or exchange (two samples) whatever the
 * distribution, and hardly moved by outliers. Pure. Values are finite; the functions that say so may run out
 * of memory. */
#ifndef TB_RANKS_H
#define TB_RANKS_H

#include <stdbool.h>
#include <stddef.h>

struct tb_interval {
  double centre, lo, hi;
};
enum tb_side { TB_BOTH_SIDES, TB_ABOVE, TB_BELOW }; /* which alternative a p is of */

/* k-th smallest, from 0, of `count` > k values, which are reordered. */
double tb_select(double *values, size_t count, size_t k);

/* Hodges-Lehmann: median of the n (n + 1) / 2 Walsh averages (x_i + x_j) / 2, i <= j, and the interval
 * between two of them that the distribution of Wilcoxon's signed ranks gives (exact up to 100 values, normal
 * with continuity correction beyond). False: too few values for the confidence (n <= 5 at 0.95), or memory is
 * out. */
bool tb_signed_rank_interval(const double *values, size_t count, double confidence, struct tb_interval *out);
/* P of "symmetric about 0" against a shift: the share of all 2^n assignments of signs whose sum of positive
 * ranks is as extreme, ties and zeros by middle ranks (a zero counts on neither side). ABOVE: that the values
 * lie above 0. NaN: no values, or memory is out. */
double tb_signed_rank_p(const double *values, size_t count, enum tb_side side);

/* The shift from `a` to `b`: median of all b_j - a_i, with the interval by Mann-Whitney's U (exact up to 20
 * values in each, normal beyond). False: too few values (both 3, or fewer, at 0.95), or memory is out. */
bool tb_rank_sum_interval(const double *a, size_t a_count, const double *b, size_t b_count, double confidence,
                          struct tb_interval *out);
/* P of "no shift". ABOVE: that b lies above a + offset. Ties count half to either side. NaN: an empty side,
 * or memory is out. */
double tb_rank_sum_p(const double *a, size_t a_count, const double *b, size_t b_count, double offset,
                     enum tb_side side);

#endif
