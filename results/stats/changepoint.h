/* Where a history of figures changed: E-Divisive (Matteson and James, JASA 109, 2014), hierarchical bisection
 * by the energy statistic with exponent 1, each cut tested by seeded random permutations within its segment;
 * then a test of effect size, since a shift that is real but too small to matter is no step to tell anyone
 * of. Pure; the same input and seed give the same points. */
#ifndef TB_CHANGEPOINT_H
#define TB_CHANGEPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct tb_change_options {
  double significance; /* of one cut's permutation test */
  int permutations;    /* at most; a test stops early once it can no longer be significant */
  int min_segment; /* points on each side of a cut, at least, for it to be found; it is told where it is, with
                      fewer beyond it near an end */
  double
      min_step; /* medians of neighbouring segments differ by this share at least; else the cut is dropped */
  uint64_t seed;
};
struct tb_change_options tb_change_defaults(void);

struct tb_change {
  size_t at;            /* index of the first point of the new segment */
  double before, after; /* medians of the segments on both sides */
  double p;             /* of the permutation test; 0 for a mark */
  bool marked;          /* a known step, told by hand */
};

/* Values are times or counts, > 0, oldest first (their logarithms are what is cut, so that a step is a
 * share). `marks`: `mark_count` indices of first points of a new segment, known by hand: they cut first,
 * untested; those of 0 or beyond the end are passed over. Writes at most `count` changes, by index, to `out`,
 * how many to *found. TC_ARG: a value is not finite or not above 0, or options make no sense; TC_NOMEM. */
tc_status tb_change_points(const double *values, size_t count, const size_t *marks, size_t mark_count,
                           const struct tb_change_options *options, struct tb_change *out, size_t *found,
                           struct tc_error *err);

#endif
