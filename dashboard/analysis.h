/* What a series' values say: where they changed, whether the newest is as expected, and what to show of it. Pure. */
#ifndef TB_DASHBOARD_ANALYSIS_H
#define TB_DASHBOARD_ANALYSIS_H

#include "harness/changepoint.h"
#include "harness/decide.h"
#include "harness/segment.h"

enum { TB_ANALYSIS_POINTS = 256, TB_ANALYSIS_RECENT = 14 /* points for which a step is news */ };

/* What a verdict rests on. */
enum tb_basis { TB_BASIS_NONE, TB_BASIS_POINT /* the newest value against its forecast */, TB_BASIS_STEP /* the newest change point */ };
const char *tb_basis_name(int basis);

struct tb_analysis {
  struct tb_change changes[TB_ANALYSIS_POINTS];
  size_t n_changes;
  struct tb_forecast forecast; /* of the newest value, from those before it */
  enum tb_basis basis;
  enum tb_verdict verdict;
  double move, lo, hi;  /* new over old, with its interval; NaN: not known */
  size_t moved;         /* index of the first value after the move */
  double score;         /* for ranking: |log move| of what became faster or slower, else 0 */
};

/* Values > 0, oldest first, at most TB_ANALYSIS_POINTS. False when memory is out. */
bool tb_analyse(const double *values, size_t count, struct tb_analysis *out);
/* Index of the change that takes a slower one back; n_changes where none does. */
size_t tb_analysis_closed_by(const struct tb_analysis *analysis, size_t change);

#endif
