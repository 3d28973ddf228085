/* What a series' values say: where they changed, whether the newest is as expected, and what to show of it.
 * Pure.
 *
 * Newest values are tested all at once, one of each series: at 95% alone some 50 of 1,000 unchanged cases
 * would "move" each night. So they are one family: Benjamini and Hochberg's step-up procedure (JRSS B 57,
 * 1995) at TB_ANALYSIS_FALSE_SHARE says which moved, so that of those listed no more than that share is
 * expected to be noise; those within the threshold count as p = 1. Intervals are those that go with such a
 * selection (Benjamini and Yekutieli, JASA 100, 2005): of confidence 1 - level, where `level` is what the
 * procedure holds the accepted p against: R q / m, with R accepted of a family of m, at q =
 * TB_ANALYSIS_FALSE_SHARE (no accepted p is above it, the next one is); they exclude 1 exactly where the
 * procedure says so. The gate (harness/cli/verb_gate.c), which must not stop a change without cause, uses
 * Holm's stricter correction on its one result. Steps are cuts that were tested one by one
 * (results/stats/changepoint.h), and are not part of that family. What moved is ranked by the end of its
 * interval that is nearer to 1, so that noise does not come first. */
#ifndef TB_DASHBOARD_ANALYSIS_H
#define TB_DASHBOARD_ANALYSIS_H

#include "results/stats/changepoint.h"
#include "results/stats/decide.h"
#include "results/stats/segment.h"

enum { TB_ANALYSIS_POINTS = 256, TB_ANALYSIS_RECENT = 14 /* points for which a step is recent */ };
#define TB_ANALYSIS_FALSE_SHARE 0.05

/* What a verdict rests on. */
enum tb_basis {
  TB_BASIS_NONE,
  TB_BASIS_POINT /* the newest value against its forecast */,
  TB_BASIS_STEP /* the newest change point */
};
const char *tb_basis_name(int basis);

/* What the newest value and the newest step say, each by itself. */
struct tb_evidence {
  enum tb_verdict point;                /* alone, at 95% */
  double point_move, p, error, freedom; /* new over forecast; of "it is as expected", by Student's t of so
                                           many degrees with this error of the logarithm. NaN: no forecast */
  double step_move, step_lo, step_hi;   /* NaN: there is none that is recent */
};

struct tb_shown {
  enum tb_basis basis;
  enum tb_verdict verdict;
  double move, lo, hi; /* new over old, with its interval; NaN: not known */
  double score;        /* for ranking: |log| of the near end of what became faster or slower, else 0 */
};

struct tb_analysis {
  struct tb_change changes[TB_ANALYSIS_POINTS];
  size_t n_changes;
  struct tb_evidence evidence;
  struct tb_shown shown; /* alone: of a family of one */
  size_t point, step; /* indices: of the newest value, or the first of those before it that are off as it is;
                         and of the first one after that step */
};

/* Values > 0, oldest first, at most TB_ANALYSIS_POINTS. False when memory is out, or a value cannot be
 * taken. */
bool tb_analyse(const double *values, size_t count, struct tb_analysis *out);
/* Index of the change that takes a slower one back; n_changes where none does. */
size_t tb_analysis_closed_by(const struct tb_analysis *analysis, size_t change);

/* The level for newest values of which `family` were tested: `p` has those of them, in ascending order, that
 * were FASTER or SLOWER alone. */
double tb_analysis_level(const double *p, size_t count, size_t family);
/* What to show at that level. A newest value that is not accepted leaves the place to the step, or is
 * UNSURE. */
struct tb_shown tb_analysis_show(const struct tb_evidence *evidence, double level);

#endif
