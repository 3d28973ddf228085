/* Charts of ratios. Places along the axis are per cent of its length, so that text keeps its size however
 * wide the chart is. */
#include "dashboard/pages/bars.h"

#include <math.h>

#include "dashboard/pages/html.h"

enum { TICKS = 16, TICKS_WANTED = 6, WHOLE = 100 };

static const double least_span = 1.1, margin = 0.04 /* of the axis, at both ends */,
                    label_room = 24 /* per cent of the axis between labels */,
                    reach = 1 /* of intervals beyond the ratios, in lengths of what the ratios take */;

const struct tb_bar_range tb_bar_range_none = {1, 1, 1, 1};

static void widen(double *lo, double *hi, double value) {
  if (!(value > 0) || !isfinite(value)) return;
  *lo = fmin(*lo, value);
  *hi = fmax(*hi, value);
}

void tb_bar_range_add(struct tb_bar_range *range, const struct tb_bar *bar) {
  const double values[] = {bar->ratio, bar->lo, bar->hi};
  widen(&range->lo, &range->hi, bar->ratio);
  for (int i = 0; i < TB_COUNT(values); i++) widen(&range->interval_lo, &range->interval_hi, values[i]);
}

/* --- the axis --- */

struct axis {
  double from, length;
  double ticks[TICKS];
  int n_ticks;
}; /* logarithms */

static bool is_on(const struct axis *axis, double value) {
  return log(value) >= axis->from && log(value) <= axis->from + axis->length;
}

static double place(const struct axis *axis, double value) {
  return WHOLE * fmin(fmax((log(value) - axis->from) / axis->length, 0), 1);
}

static void add_tick(struct axis *axis, double value) {
  if (axis->n_ticks < TICKS && is_on(axis, value)) axis->ticks[axis->n_ticks++] = value;
}

/* 1, 2 or 5 times a power of ten, so that a length has some TICKS_WANTED of it. */
static double nice_step(double length) {
  const double rough = length / TICKS_WANTED, power = pow(10, floor(log10(rough))), share = rough / power;
  return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

static void find_ticks(struct axis *axis) {
  static const double steps[] = {1, 2, 5};
  const double most_even = log(3), most_steps = 3 /* decades */, decades = axis->length / log(10);
  if (axis->length < most_even) {
    const double lo = exp(axis->from), hi = exp(axis->from + axis->length), step = nice_step(hi - lo);
    for (double n = ceil(lo / step); n * step <= hi && axis->n_ticks < TICKS; n++) add_tick(axis, n * step);
    return;
  }
  const int every = (int)ceil(decades / TICKS_WANTED), used = decades < most_steps ? TB_COUNT(steps) : 1;
  const int first = (int)floor(axis->from / log(10)), last = (int)ceil((axis->from + axis->length) / log(10));
  for (int power = first; power <= last; power++)
    for (int i = 0; i < used; i++)
      if (power % every == 0) add_tick(axis, steps[i] * pow(10, power));
}

static struct axis axis_of(const struct tb_bar_range *range) {
  const double most = reach * fmax(log(range->hi / range->lo), log(least_span));
  double lo = fmax(log(range->interval_lo), log(range->lo) - most),
         hi = fmin(log(range->interval_hi), log(range->hi) + most);
  const double missing = log(least_span) - (hi - lo);
  if (missing > 0) lo -= missing / 2, hi += missing / 2;
  const double more = (hi - lo) * margin;
  struct axis axis = {.from = lo - more, .length = hi - lo + 2 * more};
  find_ticks(&axis);
  return axis;
}

static void put_grid(struct tc_strbuf *out, const struct axis *axis) {
  for (int i = 0; i < axis->n_ticks; i++)
    tc_strbuf_printf(out, "<line class=grid x1=\"%.2f%%\" x2=\"%.2f%%\" y1=0 y2=\"100%%\"/>",
                     place(axis, axis->ticks[i]), place(axis, axis->ticks[i]));
  tc_strbuf_printf(out, "<line class=one x1=\"%.2f%%\" x2=\"%.2f%%\" y1=0 y2=\"100%%\"/>", place(axis, 1),
                   place(axis, 1));
}

static void put_label(struct tc_strbuf *out, double at, double value) {
  const double edge = 5;
  tc_strbuf_printf(out, "<text x=\"%.2f%%\" y=14 text-anchor=%s>%.4g×</text>", at,
                   at < edge           ? "start"
                   : at > WHOLE - edge ? "end"
                                       : "middle",
                   value);
}

/* 1 has its label first, then powers of ten, then the others; one that would come near another is left
 * out. */
static void put_labels(struct tc_strbuf *out, const struct axis *axis) {
  enum { ONE, POWERS, ALL };
  double taken[TICKS];
  int n = 0;
  for (int turn = ONE; turn <= ALL; turn++)
    for (int i = 0; i < axis->n_ticks; i++) {
      const double power = log10(axis->ticks[i]), at = place(axis, axis->ticks[i]), near = 1e-9;
      bool room = turn == ALL || (turn == POWERS ? fabs(power - round(power)) < near : fabs(power) < near);
      for (int k = 0; k < n; k++) room &= fabs(at - taken[k]) >= label_room;
      if (room) put_label(out, taken[n++] = at, axis->ticks[i]);
    }
}

static void put_axis(struct tc_strbuf *out, const struct axis *axis, const char *what) {
  tc_strbuf_puts(out, "<div class=bar-axis aria-hidden=true><svg class=ticks>");
  put_labels(out, axis);
  tc_strbuf_printf(out, "</svg><span class=quiet>%s (logarithmic)</span></div>\n", what);
}

/* --- bars --- */

static void put_whisker(struct tc_strbuf *out, const struct axis *axis, double lo, double hi) {
  const double ends[] = {lo, hi};
  tc_strbuf_printf(out, "<line class=whisker x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"50%%\" y2=\"50%%\"/>",
                   place(axis, lo), place(axis, hi));
  for (int i = 0; i < TB_COUNT(ends); i++)
    if (is_on(axis, ends[i]))
      tc_strbuf_printf(out, "<line class=whisker x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"32%%\" y2=\"68%%\"/>",
                       place(axis, ends[i]), place(axis, ends[i]));
}

static void put_bar(struct tc_strbuf *out, const struct axis *axis, const struct tb_bar *bar) {
  static const char *const kinds[] = {
      [TB_BAR_MORE] = "more", [TB_BAR_LESS] = "less", [TB_BAR_UNSURE] = "unsure"};
  const double one = place(axis, 1);
  const bool known = bar->ratio > 0 && isfinite(bar->ratio),
             interval = bar->lo > 0 && bar->hi > 0 && isfinite(bar->lo) && isfinite(bar->hi);
  tc_strbuf_puts(out, "<div class=bar-row><span class=bar-label>");
  tb_web_text(out, bar->label);
  tc_strbuf_puts(out, "</span><svg class=bar aria-hidden=true>");
  put_grid(out, axis);
  if (known) {
    const double at = place(axis, bar->ratio);
    tc_strbuf_printf(out, "<rect class=%s x=\"%.2f%%\" width=\"%.2f%%\" y=\"20%%\" height=\"60%%\"/>",
                     kinds[bar->kind], fmin(one, at), fabs(at - one));
    if (interval) put_whisker(out, axis, bar->lo, bar->hi);
  }
  tc_strbuf_puts(out, "</svg><span class=bar-value>");
  if (!known)
    tc_strbuf_puts(out, "not known");
  else
    tc_strbuf_printf(out, "%.3f×", bar->ratio);
  if (known && interval) tc_strbuf_printf(out, " <span class=interval>[%.3f, %.3f]</span>", bar->lo, bar->hi);
  tc_strbuf_puts(out, "</span></div>\n");
}

void tb_web_bars(struct tc_strbuf *out, const char *title, const char *what, const struct tb_bar *bars,
                 int count, const struct tb_bar_range *range) {
  const struct axis axis = axis_of(range);
  tc_strbuf_puts(out, "<figure class=bars><figcaption>");
  tb_web_text(out, title);
  tc_strbuf_puts(out, "</figcaption>\n");
  for (int i = 0; i < count; i++) put_bar(out, &axis, &bars[i]);
  put_axis(out, &axis, what);
  tc_strbuf_puts(out, "</figure>\n");
}
