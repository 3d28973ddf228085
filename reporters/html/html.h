/* Inside of the page of results and comparisons. It stands alone: one file, no script, nothing fetched; light
 * and dark by the reader's setting; tables carry all figures, charts repeat them. */
#ifndef TB_REPORTERS_HTML_H
#define TB_REPORTERS_HTML_H

#include "reporters/table.h"
#include "reporters/text_out.h"

void tb_html_begin(FILE *out, const char *title);
void tb_html_end(FILE *out);

/* --- html_chart.c --- */
/* Speedup over batch size with its intervals, a line a mode, from the cases of one group in the order of
 * their batches. Nothing where no case that is right has a speedup. False: memory is out. */
bool tb_html_speedup(FILE *out, const cJSON **cases, int count, const char *title);

/* Where 1, the least and the largest end of intervals lie in a row of small charts. */
struct tb_html_range {
  double lo, hi;
};
void tb_html_range_add(struct tb_html_range *range, const cJSON *one);
/* An interval of head/base as a bar around its ratio, beside a line at 1, in a cell of a table. */
void tb_html_interval(FILE *out, const cJSON *one, const struct tb_html_range *range);

#endif
