/* Charts of ratios: a row each, with a bar from 1 to the ratio and its interval, over one logarithmic axis.
 * They are part of the page, so that they are there without JavaScript, at any width, and for readers of
 * screens; colours come from style.css. */
#ifndef TB_DASHBOARD_BARS_H
#define TB_DASHBOARD_BARS_H

#include "base/strbuf.h"

enum tb_bar_kind {
  TB_BAR_MORE,
  TB_BAR_LESS,
  TB_BAR_UNSURE /* its interval holds 1, or nothing is said of it */
};

struct tb_bar {
  const char *label;
  double ratio, lo, hi; /* lo, hi NaN: no interval */
  enum tb_bar_kind kind;
};

/* What an axis shows: 1, all ratios, and of intervals as much as leaves the ratios room (an end that is cut
 * off has no cap). Begin with tb_bar_range_none. */
struct tb_bar_range {
  double lo, hi, interval_lo, interval_hi;
};
extern const struct tb_bar_range tb_bar_range_none;
void tb_bar_range_add(struct tb_bar_range *range, const struct tb_bar *bar);

/* `title` is any text, `axis` a static one that says what is over what. Bars without a ratio have a row that
 * says so. */
void tb_web_bars(struct tc_strbuf *out, const char *title, const char *axis, const struct tb_bar *bars,
                 int count, const struct tb_bar_range *range);

#endif
