/* What each switch of compile time buys, from a result that has cases with it off: the cold compile with it off over that of the same
 * case with all of them on, in pairs of one replicate.
 *
 * Ownership: rows and their arrays are the ablation's; cases are borrowed from the document. */
#ifndef TB_REPORTERS_ABLATION_H
#define TB_REPORTERS_ABLATION_H

#include "reporters/reporter.h"

/* Cold: until the first kernel may start; where the code has graph breaks, the whole first call. Whole: with the start of the process. */
enum tb_ablation_figure { TB_ABLATION_COLD, TB_ABLATION_WHOLE, TB_ABLATION_FIGURES };

struct tb_ablation_row {
  char label[48];           /* "key_cache"; "key_cache, lazy_dump"; "12 together" */
  const cJSON *switches;    /* of a case of this row */
  const cJSON *off, *on;    /* the cases; NULL in a row over all models */
  int n_pairs[TB_ABLATION_FIGURES];
  double *logs[TB_ABLATION_FIGURES]; /* logarithms of off / on, by replicate */
  double median_ns;         /* cold, off */
  double instructions;      /* of the cold compile, off / on; NaN: not counted */
};

struct tb_ablation {
  struct tb_ablation_row *rows; /* those of a model together; behind them, one a set of switches over all models that have it */
  int n_rows, n_models;         /* n_models > 1: there are rows over all */
};

/* Is the case one with a switch of compile time off, and is the same case there with all of them on, and right? Then that case, else NULL. */
const cJSON *tb_ablation_reference(const cJSON *result, const cJSON *one_case);
/* Of pairs of which both are right. False: memory is out. No rows: the result has no such pairs. */
bool tb_ablation_make(const cJSON *result, struct tb_ablation *out);
void tb_ablation_free(struct tb_ablation *ablation);

/* Have the rows the same switches of compile time off? */
bool tb_ablation_same_set(const struct tb_ablation_row *a, const struct tb_ablation_row *b);

struct tb_ratio { double ratio, lo, hi; }; /* NaN: not known; lo and hi: fewer than two pairs, or half_width is NULL */
struct tb_ratio tb_ablation_ratio(const struct tb_ablation_row *row, enum tb_ablation_figure figure, tb_half_width_function *half_width);

#endif
