/* Charts of the page as inline SVG. Axes of ratios and of batch sizes are logarithmic; series differ in
 * colour, dash and marker, so that they can be told apart without colours. Numbers go through `at`, which
 * keeps them finite and on the paper. */
#include <math.h>
#include <stdlib.h>

#include "reporters/equal_texts.h"
#include "reporters/html/html.h"

enum {
  WIDTH = 480,
  HEIGHT = 270,
  LEFT = 52,
  RIGHT = 14,
  TOP = 16,
  BOTTOM = 42,
  MARK = 4,
  WHISKER = 4,
  LABEL = 6,
  LINE = 4,
  SERIES = 6,
  MODE = 64
};

struct axis {
  double lo, hi;
  int from, to;
}; /* logarithms, and where they lie on the paper */

static double at(const struct axis *axis, double value) {
  const double span = axis->hi - axis->lo, share = span > 0 ? (log(value) - axis->lo) / span : 0.5;
  return axis->from + (axis->to - axis->from) * fmin(fmax(share, 0), 1);
}

static void widen(struct axis *axis, double value) {
  if (!(value > 0) || !isfinite(value)) return;
  axis->lo = fmin(axis->lo, log(value));
  axis->hi = fmax(axis->hi, log(value));
}

static double speedup(const cJSON *c) {
  const double ratio = tb_case_figure(c, "speedup.ratio");
  return ratio > 0 && isfinite(ratio) ? ratio : NAN;
}

/* A case without a batch size has its place at 1. */
static double batch_of(const cJSON *c) {
  const double batch = tb_doc_number(c, "case.batch");
  return batch > 0 && isfinite(batch) ? batch : 1;
}

static void find_axes(const cJSON **cases, int count, struct axis *x, struct axis *y) {
  const double margin = 0.08;
  *x = (struct axis){INFINITY, -INFINITY, LEFT + 2 * MARK, WIDTH - RIGHT - 2 * MARK};
  *y = (struct axis){0, 0, HEIGHT - BOTTOM, TOP}; /* 1 is always there */
  for (int i = 0; i < count; i++) {
    if (isnan(speedup(cases[i]))) continue;
    widen(x, batch_of(cases[i]));
    widen(y, speedup(cases[i]));
    widen(y, tb_doc_number(cases[i], "speedup.lo"));
    widen(y, tb_doc_number(cases[i], "speedup.hi"));
  }
  y->lo -= margin;
  y->hi += margin;
}

/* --- axes --- */

/* Ticks within a decade, finer ones where the axis spans less. */
#define STEPS(...)                                                                                           \
  {                                                                                                          \
    sizeof(double[]){__VA_ARGS__} / sizeof(double), (const double[]) { __VA_ARGS__ }                         \
  }
static const struct {
  double span;
  struct {
    size_t count;
    const double *values;
  } steps;
} scales[] = {{1.35, STEPS(1, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 7, 7.5, 8, 8.5, 9, 9.5, 9.8)},
              {3, STEPS(1, 1.1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)},
              {20, STEPS(1, 1.5, 2, 3, 4, 5, 7)},
              {200, STEPS(1, 2, 5)},
              {INFINITY, STEPS(1)}};

static void put_y_axis(FILE *out, const struct axis *y) {
  const double exponents = 12;
  size_t scale = 0;
  while (y->hi - y->lo > log(scales[scale].span)) scale++;
  for (double decade = -exponents; decade <= exponents; decade++)
    for (size_t i = 0; i < scales[scale].steps.count; i++) {
      const double value = scales[scale].steps.values[i] * pow(10, decade);
      if (log(value) >= y->lo && log(value) <= y->hi) {
        const double place = at(y, value);
        fprintf(out, "<line class=\"%s\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>",
                value == 1 ? "one" : "grid", LEFT, WIDTH - RIGHT, place, place);
        fprintf(out,
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" dominant-baseline=\"middle\">%g×</text>\n",
                LEFT - LABEL, place, value);
      }
    }
}

/* Labels that would lie on one another are left out. */
static void put_x_axis(FILE *out, const cJSON **cases, int count, const struct axis *x) {
  double last = -WIDTH;
  for (int i = 0; i < count; i++) {
    const double place = at(x, batch_of(cases[i])), batch = tb_doc_number(cases[i], "case.batch"), apart = 26;
    if (isnan(speedup(cases[i])) || place - last < apart) continue;
    last = place;
    fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", place, HEIGHT - BOTTOM + 16);
    if (batch > 0 && isfinite(batch))
      fprintf(out, "%.0f</text>", batch);
    else
      fputs("–</text>", out);
  }
  fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">batch size</text>\n",
          (LEFT + WIDTH - RIGHT) / 2, HEIGHT - LABEL);
}

/* --- series --- */

static void put_marker(FILE *out, int series, double x, double y) {
  switch (series % LINE) {
    case 0: fprintf(out, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/>", x, y, MARK); break;
    case 1:
      fprintf(out, "<rect class=\"mark\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>", x - MARK,
              y - MARK, 2 * MARK, 2 * MARK);
      break;
    case 2:
      fprintf(out, "<path class=\"mark\" d=\"M%.1f %.1fl%d %dh-%dz\"/>", x, y - MARK, MARK + 1, 2 * MARK,
              2 * (MARK + 1));
      break;
    default:
      fprintf(out, "<path class=\"mark\" d=\"M%.1f %.1fl%d %dl-%d %dl-%d -%dz\"/>", x, y - MARK - 1, MARK + 1,
              MARK + 1, MARK + 1, MARK + 1, MARK + 1, MARK + 1);
  }
}

/* Those of one mode, from the first one on. */
static void put_series(FILE *out, const cJSON **points, const struct tb_equal_texts *modes, int first,
                       int series, const struct axis *x, const struct axis *y) {
  char command = 'M';
  fprintf(out, "<g class=\"s%d\"><path class=\"line\" d=\"", series % SERIES);
  for (int i = first; i >= 0; i = modes->next[i]) {
    fprintf(out, "%c%.1f %.1f", command, at(x, batch_of(points[i])), at(y, speedup(points[i])));
    command = 'L';
  }
  fputs("\"/>", out);
  for (int i = first; i >= 0; i = modes->next[i]) {
    const double place = at(x, batch_of(points[i])), lo = tb_doc_number(points[i], "speedup.lo"),
                 hi = tb_doc_number(points[i], "speedup.hi");
    if (lo > 0 && hi > 0 && isfinite(lo) && isfinite(hi)) {
      fprintf(out, "<path class=\"bar\" d=\"M%.1f %.1fV%.1f", place, at(y, lo), at(y, hi));
      fprintf(out, "M%.1f %.1fh%dM%.1f %.1fh%d\"/>", place - WHISKER, at(y, lo), 2 * WHISKER, place - WHISKER,
              at(y, hi), 2 * WHISKER);
    }
    put_marker(out, series, place, at(y, speedup(points[i])));
  }
  fputs("</g>\n", out);
}

static void put_legend(FILE *out, const cJSON **points, int count, const struct tb_equal_texts *modes) {
  int series = 0;
  fputs("<ul class=\"legend\">", out);
  for (int i = 0; i < count; i++) {
    if (modes->first[i] != i) continue;
    fprintf(out,
            "<li><svg class=\"s%d\" width=\"28\" height=\"12\" viewBox=\"0 0 28 12\" "
            "aria-hidden=\"true\"><path class=\"line\" d=\"M0 6H28\"/>",
            series % SERIES);
    put_marker(out, series++, 14, 6);
    fputs("</svg> ", out);
    tb_html_text(out, tb_case_column(points[i]));
    fputs("</li>", out);
  }
  fputs("</ul>\n", out);
}

/* The cases that have a speedup, and which of them are of one mode; the caller frees both. False: memory is
 * out. */
static bool find_points(const cJSON **cases, int count, const cJSON ***points, int *n,
                        struct tb_equal_texts *modes) {
  const char **texts = calloc((size_t)count + 1, sizeof *texts);
  *points = calloc((size_t)count + 1, sizeof **points);
  *n = 0;
  for (int i = 0; texts && *points && i < count; i++) {
    if (isnan(speedup(cases[i]))) continue;
    texts[*n] = tb_case_column(cases[i]);
    (*points)[(*n)++] = cases[i];
  }
  const bool good = texts && *points && tb_equal_texts_make(texts, *n, modes);
  free(texts);
  return good;
}

/* Cases that are not right have a row of the table, and no point. */
static void put_omitted(FILE *out, const cJSON **cases, int count) {
  struct tb_omitted omitted = {0};
  char why[TB_GROUP];
  for (int i = 0; i < count; i++) tb_omitted_add(&omitted, cases[i]);
  tb_omitted_text(&omitted, why, sizeof why);
  if (!omitted.total) return;
  fprintf(out, " %d case%s not drawn: ", omitted.total, omitted.total == 1 ? " is" : "s are");
  tb_html_text(out, why);
  fputc('.', out);
}

static void put_chart(FILE *out, const cJSON **points, int count, const struct tb_equal_texts *modes,
                      const char *title) {
  struct axis x, y;
  int series = 0;
  find_axes(points, count, &x, &y);
  fprintf(
      out,
      "<figure>\n<svg class=\"chart\" viewBox=\"0 0 %d %d\" role=\"img\"><title>Speedup over batch size: ",
      WIDTH, HEIGHT);
  tb_html_text(out, title);
  fputs("</title>\n", out);
  put_y_axis(out, &y);
  put_x_axis(out, points, count, &x);
  for (int i = 0; i < count; i++)
    if (modes->first[i] == i) put_series(out, points, modes, i, series++, &x, &y);
  fputs("</svg>\n", out);
  put_legend(out, points, count, modes);
}

bool tb_html_speedup(FILE *out, const cJSON **cases, int count, const char *title) {
  const cJSON **points;
  struct tb_equal_texts modes = {0};
  int n;
  const bool good = find_points(cases, count, &points, &n, &modes);
  if (good && n) {
    put_chart(out, points, n, &modes, title);
    fputs(
        "<figcaption>Speedup over the uncompiled function, with its interval (95%); the line is 1×: as fast.",
        out);
    put_omitted(out, cases, count);
    fputs("</figcaption>\n</figure>\n", out);
  }
  tb_equal_texts_free(&modes);
  free(points);
  return good;
}

/* --- intervals in a table --- */

enum { SMALL_WIDTH = 160, SMALL_HEIGHT = 16, SMALL_MARGIN = 6, SMALL_MARK = 3 };

void tb_html_range_add(struct tb_html_range *range, const cJSON *one) {
  static const char *const paths[] = {"time.ratio", "time.lo", "time.hi"};
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    const double value = tb_doc_number(one, paths[i]);
    if (!(value > 0) || !isfinite(value)) continue;
    range->lo = fmin(range->lo, log(value));
    range->hi = fmax(range->hi, log(value));
  }
}

void tb_html_interval(FILE *out, const cJSON *one, const struct tb_html_range *range) {
  const double ratio = tb_doc_number(one, "time.ratio"), lo = tb_doc_number(one, "time.lo"),
               hi = tb_doc_number(one, "time.hi");
  const struct axis x = {range->lo, range->hi, SMALL_MARGIN, SMALL_WIDTH - SMALL_MARGIN};
  if (!(ratio > 0) || !isfinite(ratio)) return;
  fprintf(out,
          "<svg class=\"small\" viewBox=\"0 0 %d %d\" aria-hidden=\"true\"><path class=\"one\" d=\"M%.1f "
          "0V%d\"/>",
          SMALL_WIDTH, SMALL_HEIGHT, at(&x, 1), SMALL_HEIGHT);
  if (lo > 0 && hi > 0 && isfinite(lo) && isfinite(hi))
    fprintf(out, "<path class=\"bar\" d=\"M%.1f %dH%.1f\"/>", at(&x, lo), SMALL_HEIGHT / 2, at(&x, hi));
  fprintf(out, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%d\" r=\"%d\"/></svg>", at(&x, ratio),
          SMALL_HEIGHT / 2, SMALL_MARK);
}
