/* Time until the first kernel may start, as bars: with a cold cache, from the disk cache in a fresh process,
 * from memory. Medians; a whisker reaches from the smallest to the largest sample.
 *
 * Data: place, then median, least, largest of each of the three (ms). */
#include <math.h>

#include "reporters/gnuplot/gnuplot.h"

enum { ROWS_MAX = 30, ROW_PIXELS = 38, FRAME_PIXELS = 130, LEGEND_PIXELS = 20, STATES = 3 };
static const double ns_per_ms = 1e6, bar = 0.26, range_below = 0.7;

static const struct {
  const char *path, *title, *fill;
} states[STATES] = {{"compile.cold_ns", "cold cache", "solid 0.9"},
                    {"compile.disk_ns", "disk cache, fresh process", "solid 0.45"},
                    {"compile.memory_ns", "in memory", "solid 0.12"}};
static const int linetypes[STATES] = {2, 1, 3};

static double median_of(const cJSON *c, int state) {
  return tb_doc_number(tb_doc_at(c, states[state].path), "median");
}

static bool has_time(const cJSON *c, const void *data) {
  (void)data;
  for (int i = 0; i < STATES; i++)
    if (median_of(c, i) > 0 && isfinite(median_of(c, i))) return true;
  return false;
}

static double longest(const cJSON *c) {
  double most = -INFINITY;
  for (int i = 0; i < STATES; i++) most = fmax(most, median_of(c, i));
  return most;
}

struct panel {
  double lo, hi;
  bool any[STATES];
};

/* " median least largest" of a state, in ms; the whisker is NaN for fewer than two samples. */
static void put_state(struct tb_page *page, const cJSON *c, int state, struct panel *p) {
  const double median = median_of(c, state);
  double least = INFINITY, largest = -INFINITY;
  int n = 0;
  const cJSON *sample;
  if (!(median > 0) || !isfinite(median)) {
    fputs("  NaN NaN NaN", page->data);
    return;
  }
  cJSON_ArrayForEach(sample, tb_doc_at(tb_doc_at(c, states[state].path), "samples")) {
    if (!cJSON_IsNumber(sample) || !(sample->valuedouble > 0)) continue;
    least = fmin(least, sample->valuedouble);
    largest = fmax(largest, sample->valuedouble);
    n++;
  }
  p->any[state] = true;
  p->lo = fmin(p->lo, fmin(median, least));
  p->hi = fmax(p->hi, fmax(median, largest));
  fprintf(page->data, "  %.17g", median / ns_per_ms);
  if (n > 1)
    fprintf(page->data, " %.17g %.17g", least / ns_per_ms, largest / ns_per_ms);
  else
    fputs(" NaN NaN", page->data);
}

static void put_bars(struct tb_page *page, int block, const struct panel *p) {
  FILE *out = page->script;
  const char *comma = "plot ";
  for (int i = 0; i < STATES; i++) {
    const int column = 2 + 3 * i;
    if (!p->any[i]) continue;
    fputs(comma, out);
    tb_page_index(page, block);
    fprintf(out,
            "using %d:($1 + %.3g):(left):%d:($1 + %.3g):($1 + %.3g) with boxxyerror lt %d lw 1 dt 1 fs %s "
            "border title '%s', \\\n  ",
            column, bar * (1 - i), column, bar * (1 - i) - 0.46 * bar, bar * (1 - i) + 0.46 * bar,
            linetypes[i], states[i].fill, states[i].title);
    tb_page_index(page, block);
    fprintf(out,
            "using ($%d == $%d ? $%d : NaN):($1 + %.3g):%d:%d with xerrorbars lc rgb '#333333' lw 1 dt 1 pt "
            "0 notitle",
            column + 1, column + 1, column, bar * (1 - i), column + 1, column + 2);
    comma = ", \\\n  ";
  }
  fputc('\n', out);
}

static void add_panel(struct tb_page *page, const struct tb_rows *rows) {
  struct panel p = {.lo = INFINITY, .hi = -INFINITY};
  char common[TB_PLOT_TITLE];
  const int block = tb_page_block(page, "time to the first kernel",
                                  "place (from the top: 0, -1 …)  cold least largest  disk least largest  "
                                  "memory least largest (ms)  case");
  for (int k = 0; k < rows->count; k++) {
    fprintf(page->data, "%d", -k);
    for (int i = 0; i < STATES; i++) put_state(page, rows->cases[k], i, &p);
    fputs("  ", page->data);
    tb_plot_column(page->data, tb_doc_text(rows->cases[k], "id", "?"));
    fputc('\n', page->data);
  }
  int legends = 0;
  for (int i = 0; i < STATES; i++) legends += p.any[i];
  tb_page_panel(page, FRAME_PIXELS + LEGEND_PIXELS * legends + ROW_PIXELS * rows->count, legends,
                "time to the first kernel"); /* below one another: labels may leave little width */
  tb_rows_common(rows, common);
  tb_page_title(page, "time to the first kernel (median; whiskers: smallest and largest sample)", common);
  FILE *out = page->script;
  tb_rows_axis(out, rows);
  double lo = p.lo / ns_per_ms * range_below, hi = p.hi / ns_per_ms;
  tb_plot_log_axis(out, 'x', lo, hi);
  tb_plot_log_range(&lo, &hi);
  fprintf(out, "set xlabel 'ms'\nleft = %.9g   # where bars begin: a logarithmic axis has no 0\n", lo);
  put_bars(page, block, &p);
}

bool tb_plot_compile(struct tb_page *page, const struct tb_plot_subject *s) {
  struct tb_rows rows;
  const bool good = tb_rows_make(tb_doc_at(s->result, "cases"), has_time, NULL, &rows);
  const int dropped = tb_rows_keep(&rows, ROWS_MAX, longest);
  if (dropped)
    tb_page_note(page,
                 "%d of %d cases are left out of the times to the first kernel: the shortest; case=PATTERN "
                 "picks others",
                 dropped, dropped + rows.count);
  if (rows.count) add_panel(page, &rows);
  tb_rows_free(&rows);
  return good;
}
