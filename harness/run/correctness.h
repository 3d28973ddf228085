/* Comparison of what workers returned: the compiled function (y) against the plain one (b) and the float64
 * reference (r).
 *
 * Streams all three in step (exchange.h), so memory stays small. For each floating result, with maxima over
 * it:
 *   max|y - r| <= 3 max|b - r| + 8 eps max|r|      compiled
 *   max|b - r| <= tolerance max|r|                 baseline (tolerance.def, or the workload's own)
 * NaN equals NaN, infinities equal by sign; integers, booleans, strings and the shape of results exactly. An
 * argument that the plain function leaves as it was must be left as it was. Without a reference, y is held
 * against b within the baseline's tolerance. */
#ifndef TB_CORRECTNESS_H
#define TB_CORRECTNESS_H

#include <math.h>

#include "harness/wire/exchange.h"
#include "harness/wire/process.h"

enum { TB_DETAIL_BYTES = 300 };

struct tb_comparison {
  bool ok;
  double max_error, bound;        /* of the result that came nearest to its bound, or farthest beyond */
  char detail[TB_DETAIL_BYTES];   /* what is wrong, where ok is false */
  char baseline[TB_DETAIL_BYTES]; /* what is wrong with the plain function, whatever the compiled one does;
                                     "": nothing */
};

/* `dtype`: of the case, for numbers that are no tensors. `tolerance` 0: the table's. `reference` may be NULL.
 * On a failed status one of the workers has ended; the others stay usable. */
tc_status tb_compare(struct tb_process *compiled, struct tb_process *baseline, struct tb_process *reference,
                     const char *dtype, double tolerance, double timeout_s, struct tb_comparison *out,
                     struct tc_error *err);
/* Digest of a worker's newest results and arguments, and its own check (*good, *why of TB_DETAIL_BYTES). */
tc_status tb_digest(struct tb_process *process, double timeout_s, char digest[TB_DIGEST_BYTES], bool *good,
                    char *why, struct tc_error *err);

/* The arithmetic alone, for tests: folds one chunk of values into the maxima of a result. */
struct tb_maxima {
  double error, baseline_error, reference; /* max|y - r|, max|b - r|, max|r| over what is finite */
  bool special;                            /* a NaN or infinity of y is not b's */
  bool baseline_special;                   /* one of b is not r's, and no overflow of the dtype explains it */
};
void tb_maxima_add(struct tb_maxima *maxima, const double *y, const double *b, const double *r, size_t count,
                   double largest);
/* How near an error is to its bound: 1 is on it. */
static inline double tb_nearness(double error, double bound) {
  return bound > 0 ? error / bound : error > 0 ? INFINITY : 0;
}
/* eps and baseline tolerance of a dtype ("f32" for names that are none). */
struct tb_tolerance {
  const char *dtype;
  double eps, baseline;
};
const struct tb_tolerance *tb_tolerance_of(const char *dtype);
/* Folds a finished result into the comparison. */
void tb_comparison_add(struct tb_comparison *comparison, const struct tb_maxima *maxima,
                       const struct tb_tolerance *tolerance, double baseline_tolerance, bool has_reference,
                       const char *path);

#endif
