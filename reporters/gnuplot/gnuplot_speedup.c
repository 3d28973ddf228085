/* Speedup over batch size: curves of cases that were measured at several batches, rows of those that were
 * not.
 *
 * Data: of a curve batch, speedup, lo, hi; of rows place, speedup, lo, hi. lo and hi are NaN where one
 * replicate gave no interval. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/gnuplot/gnuplot.h"

enum {
  CURVES_MAX = 8 * TB_PLOT_SERIES,
  ROWS_MAX = 50,
  CURVE_PIXELS = 20,
  ROW_PIXELS = 20,
  PANEL_PIXELS = 360,
  ROWS_FRAME_PIXELS = 130,
  BATCH_TICS = 14
};
static const double dodge_most = 0.07, dodge_share = 0.6; /* octaves between neighbouring curves' points, and
                                                             of the gap between batches at most */

static double moved(const cJSON *c) { return fabs(log(tb_doc_number(c, "speedup.ratio"))); }

static bool has_speedup(const cJSON *c) {
  const double ratio = tb_doc_number(c, "speedup.ratio");
  return ratio > 0 && isfinite(ratio);
}

static bool has_batch(const cJSON *c, const void *data) {
  (void)data;
  return has_speedup(c) && tb_doc_number(c, "case.batch") > 0;
}

static int by_address(const void *a, const void *b) {
  const uintptr_t x = (uintptr_t)*(const cJSON *const *)a, y = (uintptr_t)*(const cJSON *const *)b;
  return (x > y) - (x < y);
}

/* The cases of all curves, by address. */
struct drawn {
  const cJSON **cases;
  size_t count;
};

static bool list_drawn(const struct tb_curves *curves, struct drawn *out) {
  size_t room = 1;
  for (int i = 0; i < curves->count; i++) room += (size_t)curves->data[i].count;
  *out = (struct drawn){.cases = calloc(room, sizeof *out->cases)};
  if (!out->cases) return false;
  for (int i = 0; i < curves->count; i++)
    for (int k = 0; k < curves->data[i].count; k++) out->cases[out->count++] = curves->data[i].cases[k];
  qsort(out->cases, out->count, sizeof *out->cases, by_address);
  return true;
}

/* Is it a case of no curve? */
static bool is_alone(const cJSON *c, const void *data) {
  const struct drawn *drawn = data;
  return has_speedup(c) && !bsearch(&c, drawn->cases, drawn->count, sizeof *drawn->cases, by_address);
}

/* Takes curves of one batch away: they are rows. */
static void drop_single(struct tb_curves *curves) {
  const int before = curves->count;
  curves->count = 0;
  for (int i = 0; i < before; i++) {
    const struct tb_curve *c = &curves->data[i];
    if (tb_doc_number(c->cases[0], "case.batch") < tb_doc_number(c->cases[c->count - 1], "case.batch"))
      curves->data[curves->count++] = curves->data[i];
    else
      free(curves->data[i].cases);
  }
}

static bool any_over_blocks(const cJSON *result) {
  const cJSON *c;
  cJSON_ArrayForEach(c, tb_doc_at(result, "cases")) {
    if (tb_case_right(c) && !strcmp(tb_doc_text(c, "speedup.interval_over", ""), "blocks")) return true;
  }
  return false;
}

static void put_title(struct tb_page *page, const cJSON *result, const char *group) {
  char title[TB_PLOT_TITLE];
  snprintf(title, sizeof title, "speedup over the uncompiled function (95%% interval%s)",
           any_over_blocks(result) ? " over the blocks of one pair of processes" : "");
  tb_page_title(page, title, group);
}

struct range {
  double lo, hi;
};

static void widen(struct range *r, double value) {
  if (!(value > 0) || !isfinite(value)) return;
  r->lo = fmin(r->lo, value);
  r->hi = fmax(r->hi, value);
}

static void put_figures(struct tb_page *page, const cJSON *c, double place, struct range *range) {
  static const char *const columns[] = {"speedup.ratio", "speedup.lo", "speedup.hi"};
  fprintf(page->data, "%.17g", place);
  for (int i = 0; i < 3; i++) {
    const double value = tb_doc_number(c, columns[i]);
    widen(range, value);
    fprintf(page->data, value > 0 && isfinite(value) ? " %.17g" : " NaN", value);
  }
  fputs("  ", page->data);
  tb_plot_column(page->data, tb_doc_text(c, "id", "?"));
  fputc('\n', page->data);
}

static const char columns_of_curve[] = "batch  speedup  lo  hi (times; 95% interval)  case",
                  columns_of_rows[] =
                      "place (from the top: 0, -1 …)  speedup  lo  hi (times; 95% interval)  case";

/* --- curves --- */

static int upwards(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The batches of these curves, each once; the caller frees them. */
static double *batches_of(const struct tb_curve *curves, int count, int *n) {
  int room = 1;
  for (int i = 0; i < count; i++) room += curves[i].count;
  double *all = malloc(sizeof *all * (size_t)room);
  *n = 0;
  if (!all) return NULL;
  for (int i = 0; i < count; i++)
    for (int k = 0; k < curves[i].count; k++) all[(*n)++] = tb_doc_number(curves[i].cases[k], "case.batch");
  qsort(all, (size_t)*n, sizeof *all, upwards);
  int kept = 0;
  for (int i = 0; i < *n; i++)
    if (!kept || all[i] > all[kept - 1]) all[kept++] = all[i];
  *n = kept;
  return all;
}

/* The batches that were measured as tics, as far as they have room; returns the octaves between curves'
 * points. */
static double put_batches(FILE *out, const double *batches, int n, int n_curves) {
  double gap = INFINITY;
  for (int i = 1; i < n; i++) gap = fmin(gap, log2(batches[i] / batches[i - 1]));
  const double octaves = log2(batches[n - 1] / batches[0]), room = fmax(0.06 * octaves, 0.35);
  fprintf(out, "set xlabel 'batch'\nset logscale x 2\nset xrange [%.9g:%.9g]\n", batches[0] / exp2(room),
          batches[n - 1] * exp2(room));
  if (n <= BATCH_TICS && gap > octaves / (2 * BATCH_TICS)) {
    fputs("set xtics (", out);
    for (int i = 0; i < n; i++) fprintf(out, "%s'%.10g' %.10g", i ? ", " : "", batches[i], batches[i]);
    fputs(")\n", out);
  }
  return fmin(dodge_most, gap * dodge_share / n_curves);
}

static bool add_curves_panel(struct tb_page *page, const cJSON *result, const struct tb_curves *curves,
                             int first, int count) {
  struct range range = {1, 1};
  const int block = page->n_blocks + 1;
  int n_batches;
  double *batches = batches_of(&curves->data[first], count, &n_batches);
  if (!batches) return false;
  for (int i = 0; i < count; i++) {
    const struct tb_curve *c = &curves->data[first + i];
    tb_page_block(page, c->title, columns_of_curve);
    for (int k = 0; k < c->count; k++)
      put_figures(page, c->cases[k], tb_doc_number(c->cases[k], "case.batch"), &range);
  }
  tb_page_panel(page, PANEL_PIXELS + CURVE_PIXELS * count, count, "speedup over batch");
  put_title(page, result, tb_curves_group(curves, first, count));
  FILE *out = page->script;
  const double octaves = put_batches(out, batches, n_batches, count);
  free(batches);
  fputs("set ylabel 'speedup (times)'\n", out);
  tb_plot_log_axis(out, 'y', range.lo, range.hi);
  fprintf(out,
          "apart(x, k) = x * 2**(%.4g * (k - %g))   # points of curves at the same batch stand side by "
          "side\nplot 1 with lines lc rgb '#888888' lw 1 dt 2 notitle",
          octaves, (count - 1) / 2.0);
  for (int i = 0; i < count; i++) {
    char legend[TB_PLOT_TITLE];
    tb_curve_legend(curves, first, count, i, legend);
    fputs(", \\\n  ", out);
    tb_page_index(page, block + i);
    fprintf(out,
            "using (apart($1, %d)):($3 == $3 ? $2 : NaN):3:4 with yerrorbars lt %d dt 1 lw 1.5 pt 0 notitle, "
            "\\\n  ",
            i, i + 1);
    tb_page_index(page, block + i);
    fprintf(out, "using (apart($1, %d)):2 with linespoints lt %d title ", i, i + 1);
    tb_plot_quote(out, legend);
  }
  fputc('\n', out);
  return true;
}

static bool add_curves(struct tb_page *page, const cJSON *result, struct tb_curves *curves) {
  const int dropped = tb_curves_keep(curves, CURVES_MAX);
  if (dropped)
    tb_page_note(page,
                 "%d of %d curves of speedup are left out: those nearest to 1; case=PATTERN picks others",
                 dropped, dropped + curves->count);
  for (int first = 0, count; first < curves->count; first += count) {
    count = tb_curves_panel(curves, first);
    if (!add_curves_panel(page, result, curves, first, count)) return false;
  }
  return true;
}

/* --- rows --- */

static void add_rows_panel(struct tb_page *page, const cJSON *result, const struct tb_rows *rows) {
  struct range range = {1, 1};
  char common[TB_PLOT_TITLE];
  const int block = tb_page_block(page, "speedup of cases at one batch", columns_of_rows);
  for (int k = 0; k < rows->count; k++) put_figures(page, rows->cases[k], -k, &range);
  tb_page_panel(page, ROWS_FRAME_PIXELS + ROW_PIXELS * rows->count, 0, "speedup of cases at one batch");
  tb_rows_common(rows, common);
  put_title(page, result, common);
  FILE *out = page->script;
  tb_rows_axis(out, rows);
  tb_plot_log_axis(out, 'x', range.lo, range.hi);
  fprintf(out, "set xlabel 'speedup (times)'\nset arrow from 1, graph 0 to 1, graph 1 nohead lc rgb "
               "'#888888' dt 2\nplot ");
  tb_page_index(page, block);
  fputs("using ($3 == $3 ? $2 : NaN):1:3:4 with xerrorbars lt 1 pt 0, \\\n  ", out);
  tb_page_index(page, block);
  fputs("using 2:1 with points lt 1\n", out);
}

bool tb_plot_speedup(struct tb_page *page, const struct tb_plot_subject *s) {
  const cJSON *cases = tb_doc_at(s->result, "cases");
  struct tb_curves curves;
  struct tb_rows rows = {0};
  struct drawn drawn = {0};
  bool good = tb_curves_make(cases, has_batch, NULL, moved, &curves);
  if (good) {
    drop_single(&curves);
    good = list_drawn(&curves, &drawn) && tb_rows_make(cases, is_alone, &drawn, &rows) &&
           add_curves(page, s->result, &curves);
  }
  free(drawn.cases);
  if (good) {
    const int dropped = tb_rows_keep(&rows, ROWS_MAX, moved);
    if (dropped)
      tb_page_note(
          page,
          "%d of %d cases at one batch are left out of the speedups: those nearest to 1; case=PATTERN "
          "picks others",
          dropped, dropped + rows.count);
    if (rows.count) add_rows_panel(page, s->result, &rows);
  }
  tb_rows_free(&rows);
  tb_curves_free(&curves);
  return good;
}
