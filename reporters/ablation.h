/* What each switch of compile time buys, from a result that has cases with it off: the cold compile with it
 * off over that of the same case with all of them on, in pairs of one replicate. A case with all on that was
 * measured again (case.params.again, from a set of switches that a suite lists twice) is a row too, "on /
 * on": what is not further from 1 than this row is noise. The others are over the geometric mean of both.
 *
 * Ownership: rows and their arrays are the ablation's; cases are borrowed from the document. */
#ifndef TB_REPORTERS_ABLATION_H
#define TB_REPORTERS_ABLATION_H

#include "reporters/reporter.h"

/* Cold: until the first kernel may start; where the code has graph breaks, the whole first call. Whole: with
 * the start of the process. */
enum tb_ablation_figure { TB_ABLATION_COLD, TB_ABLATION_WHOLE, TB_ABLATION_FIGURES };

struct tb_ablation_row {
  char label[48];        /* "key_cache"; "key_cache, lazy_dump"; "12 together"; "on / on" */
  const cJSON *switches; /* of a case of this row */
  int set; /* the first row that has the same switches of compile time off: equal where these are */
  const cJSON *off, *on; /* the cases; NULL in a row over all models */
  const cJSON *again;    /* `on` measured again; NULL: it was not, and in a row over all models */
  int n_pairs[TB_ABLATION_FIGURES];
  double *logs[TB_ABLATION_FIGURES]; /* logarithms of off / on, by replicate */
  double median_ns, on_ns;           /* cold, off and on */
  double instructions;               /* of the cold compile, off / on; NaN: not counted */
};

struct tb_ablation {
  struct tb_ablation_row
      *rows; /* those of a model together; behind them, one a set of switches over all models that have it */
  int n_rows, n_models; /* n_models > 1: there are rows over all */
};

/* Of each case that has a switch of compile time off, or is measured again: the place of the same case of the
 * same host with all of them on, and right (of several the first); -1: there is none, or it is that one. The
 * caller frees it; NULL: memory is out. */
int *tb_ablation_references(const cJSON *result);
/* Of pairs of which both are right. False: memory is out. No rows: the result has no such pairs. */
bool tb_ablation_make(const cJSON *result, struct tb_ablation *out);
void tb_ablation_free(struct tb_ablation *ablation);

bool tb_ablation_is_floor(const struct tb_ablation_row *row); /* on / on */

struct tb_ratio {
  double ratio, lo, hi;
}; /* NaN: not known; lo and hi: fewer than two pairs */
struct tb_ratio tb_ablation_ratio(const struct tb_ablation_row *row, enum tb_ablation_figure figure);

#endif
