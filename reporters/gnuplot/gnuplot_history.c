/* Histories: the compiled time of a case over runs, a panel a case. Segments are medians with the band of
 * their prediction interval (the newest band ends behind the newest run: it is the forecast), change points
 * are lines between two runs, with the step and the commit; marks (steps known by hand) have their reason.
 *
 * All panels share the numbers of the runs, so that a night stands below itself. Data, of each series:
 * points: run, value, when, commit; segments: first, last, median, lo, hi; changes: place, new over old
 * median, p, kind (1 slower, -1 faster, 0 mark), level and side of the text, text. Values: times of the
 * calibration kernel of the same run, or microseconds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reporters/gnuplot/gnuplot.h"

enum { PANELS_MAX = 10, PANEL_PIXELS = 270, TICS = 9, COMMIT = 8, DATE = 10, TEXT = 96, LEVELS = 3 };
static const double ns_per_us = 1e3,
                    log_from = 3 /* highest over lowest from which the axis is logarithmic */, room = 0.08,
                    line_room = 0.09, letter_share = 0.0075 /* of the width */, least_span = 0.01;

struct range {
  double lo, hi;
};

static double unit_of(const struct tb_plot_series *s) { return s->calibrated ? 1 : ns_per_us; }

/* How much it moved: the steps between segments that were found, and between its first and last ones. */
static double moved(const struct tb_plot_series *s) {
  double sum = 0;
  for (int i = 0; i < s->n_changes; i++)
    if (s->changes[i].ratio > 0) sum += fabs(log(s->changes[i].ratio));
  return sum;
}

static void widen(struct range *r, double value) {
  if (!(value > 0) || !isfinite(value)) return;
  r->lo = fmin(r->lo, value);
  r->hi = fmax(r->hi, value);
}

static int kind_of(const struct tb_plot_change *c) { return c->mark ? 0 : c->ratio > 1 ? 1 : -1; }

/* --- data --- */

static int put_points(struct tb_page *page, const struct tb_plot_history *h, const struct tb_plot_series *s,
                      struct range *r) {
  const int block =
      tb_page_block(page, s->name,
                    s->calibrated ? "run  compiled time (times of the probe kernel)  when  commit"
                                  : "run  compiled time (microseconds)  when  commit");
  for (int i = 0; i < s->n_points; i++) {
    const double value = s->points[i].value / unit_of(s);
    const struct tb_plot_run *run = &h->runs[s->points[i].run];
    widen(r, value);
    fprintf(page->data, "%d %.17g ", s->points[i].run, value);
    tb_plot_column(page->data, run->started);
    fputc(' ', page->data);
    tb_plot_column(page->data, run->commit);
    fputc('\n', page->data);
  }
  return block;
}

static int put_segments(struct tb_page *page, const struct tb_plot_series *s, struct range *r) {
  const int block = tb_page_block(
      page, "its segments", "first run  last run  median  lo  hi (prediction interval of the next value)");
  for (int i = 0; i < s->n_segments; i++) {
    const double figures[] = {s->segments[i].median / unit_of(s), s->segments[i].lo / unit_of(s),
                              s->segments[i].hi / unit_of(s)};
    fprintf(page->data, "%d %d", s->segments[i].first, s->segments[i].last);
    for (int k = 0; k < 3; k++) {
      widen(r, figures[k]);
      fprintf(page->data, isnan(figures[k]) ? " NaN" : " %.17g", figures[k]);
    }
    fputc('\n', page->data);
  }
  return block;
}

/* "+5.3% 1a2b3c4d", "new allocator" */
static void change_text(const struct tb_plot_history *h, const struct tb_plot_change *c, char out[TEXT]) {
  char step[32] = "";
  if (c->ratio > 0) snprintf(step, sizeof step, "%+.1f%%", 100 * (c->ratio - 1));
  if (c->mark)
    snprintf(out, TEXT, "%.40s%s%s", *c->mark ? c->mark : "marked", *step ? " " : "", step);
  else
    snprintf(out, TEXT, "%s %.*s", step, COMMIT, c->run < h->n_runs ? h->runs[c->run].commit : "");
  tb_plot_shorten(out, TEXT / 3);
}

/* What the panel has to know of the texts of its changes. */
struct texts {
  int levels;
  bool side[2]; /* right, left of their places */
};

static int put_changes(struct tb_page *page, const struct tb_plot_history *h, const struct tb_plot_series *s,
                       struct texts *texts) {
  const int block = tb_page_block(
      page, "its changes",
      "place (between two runs)  new/old median  p  kind (1: slower, -1: faster, 0: marked by hand)  level "
      "of the text  its side (1: right of the place, -1: left, where it would be cut off)  text");
  double taken[LEVELS];
  for (int i = 0; i < LEVELS; i++) taken[i] = -INFINITY;
  for (int i = 0; i < s->n_changes; i++) {
    const struct tb_plot_change *c = &s->changes[i];
    char text[TEXT];
    int level = 0;
    change_text(h, c, text);
    const double length = letter_share * (double)(strlen(text) + 1) * h->n_runs;
    const bool left = c->run + length > h->n_runs && c->run > length;
    const double from = left ? c->run - length : c->run;
    while (level < LEVELS - 1 && from < taken[level]) level++;
    taken[level] = fmax(taken[level], from + length);
    if (level >= texts->levels) texts->levels = level + 1;
    texts->side[left] = true;
    fprintf(page->data, "%.1f %.6g %.4g %d %d %d ", c->run - 0.5, c->ratio, c->p, kind_of(c), level,
            left ? -1 : 1);
    tb_plot_column(page->data, text);
    fputc('\n', page->data);
  }
  return block;
}

/* --- the panel --- */

/* Every so many runs: the day, and the commit below it. */
static void put_runs(FILE *out, const struct tb_plot_history *h) {
  const int step = h->n_runs > TICS ? (h->n_runs + TICS - 1) / TICS : 1;
  const double side = fmax(0.02 * h->n_runs, 0.7);
  fprintf(out, "set xrange [%g:%g]\nset xtics (", -side, h->n_runs + side);
  for (int i = 0; i < h->n_runs; i += step) {
    if (i && i + step >= h->n_runs) i = h->n_runs - 1; /* the newest run is told in any case */
    char day[DATE + 1], commit[COMMIT + 1];
    snprintf(day, sizeof day, "%.*s", DATE, h->runs[i].started);
    snprintf(commit, sizeof commit, "%.*s", COMMIT, h->runs[i].commit);
    if (i) fputs(", ", out);
    tb_plot_quote_tic(out, day);
    fputs(".\"\\n\".", out);
    tb_plot_quote_tic(out, commit);
    fprintf(out, " %d", i);
  }
  fputs(")\n", out);
}

/* The axis of values; `bottom`, `top` and `height_of` are for what stands at its ends. */
static void put_values(FILE *out, const struct tb_plot_series *s, struct range r, int levels) {
  const bool logarithmic = r.hi / r.lo > log_from;
  const double span = fmax(r.hi - r.lo, least_span * r.hi), above = room + line_room * levels;
  if (logarithmic) {
    r.hi *= pow(r.hi / r.lo, above);
    tb_plot_log_axis(out, 'y', r.lo, r.hi);
    tb_plot_log_range(&r.lo, &r.hi);
  } else {
    r.lo -= room * span;
    r.hi += above * span;
    fprintf(out, "set yrange [%.9g:%.9g]\n", r.lo, r.hi);
  }
  fprintf(out, "set ylabel '%s'\nbottom = %.9g\ntop = %.9g\n",
          s->calibrated ? "time / probe time" : "compiled time (µs)", r.lo, r.hi);
  if (logarithmic)
    fputs("height_of(k) = top * (bottom / top)**(0.05 + 0.075 * k)   # of texts\n", out);
  else
    fputs("height_of(k) = top - (top - bottom) * (0.05 + 0.075 * k)   # of texts\n", out);
}

static void put_bands(struct tb_page *page, int block, double confidence) {
  FILE *out = page->script;
  tb_page_index(page, block);
  fprintf(out,
          "using (($1 + $2) / 2):4:($1 - 0.5):($2 + 0.5):4:5 with boxxyerror lc rgb '#56B4E9' lw 0 fs solid "
          "0.25 noborder title '%.4g%% band', \\\n  ",
          100 * confidence);
  tb_page_index(page, block);
  fputs("using ($1 - 0.5):3:($2 - $1 + 1):(0) with vectors nohead lc rgb '#333333' lw 1.5 dt 1 title "
        "'median', \\\n  ",
        out);
}

/* gnuplot 5.4 crashes where a plot of labels has none: that of a side is there where the side has some. */
static void put_texts(struct tb_page *page, int block, const struct texts *texts) {
  static const struct {
    const char *where, *labels;
  } sides[] = {{"> 0", "left offset 0.4,0"}, {"< 0", "right offset -0.4,0"}};
  for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
    if (!texts->side[i]) continue;
    tb_page_index(page, block);
    fprintf(page->script,
            "using ($6 %s ? $1 : NaN):(height_of($5)):7 with labels %s font ',9' tc rgb '#222222' notitle, "
            "\\\n  ",
            sides[i].where, sides[i].labels);
  }
}

static void put_lines(struct tb_page *page, int block, const struct tb_plot_series *s) {
  static const struct {
    int kind, linetype, dash;
    const char *title;
  } kinds[] = {{1, 2, 1, "slower"}, {-1, 3, 2, "faster"}, {0, 4, 4, "marked"}};
  FILE *out = page->script;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    bool any = false;
    for (int k = 0; k < s->n_changes; k++) any |= kind_of(&s->changes[k]) == kinds[i].kind;
    if (!any) continue;
    tb_page_index(page, block);
    fprintf(out,
            "using ($4 == %d ? $1 : NaN):(bottom):(0):(top - bottom) with vectors nohead lt %d lw 1.5 dt %d "
            "title '%s', \\\n  ",
            kinds[i].kind, kinds[i].linetype, kinds[i].dash, kinds[i].title);
  }
}

static void add_series(struct tb_page *page, const struct tb_plot_history *h,
                       const struct tb_plot_series *s) {
  struct range range = {INFINITY, 0};
  struct texts texts = {0};
  const int points = put_points(page, h, s, &range),
            segments = s->n_segments ? put_segments(page, s, &range) : 0,
            changes = s->n_changes ? put_changes(page, h, s, &texts) : 0;
  tb_page_panel(page, PANEL_PIXELS, 1, "history of a case");
  tb_page_title(page, s->name, "");
  FILE *out = page->script;
  fputs("set key horizontal maxcols 6 samplen 2\nset bmargin 4.6\nset lmargin 11\nset rmargin 3\n", out);
  put_runs(out, h);
  put_values(out, s, range, texts.levels);
  fputs("plot ", out);
  if (segments) put_bands(page, segments, h->confidence);
  if (changes) put_lines(page, changes, s), put_texts(page, changes, &texts);
  tb_page_index(page, points);
  fputs("using 1:2 with points lc rgb '#0072B2' pt 7 ps 0.45 title 'run'\n", out);
}

static bool can_draw(const struct tb_plot_series *s) {
  for (int i = 0; i < s->n_points; i++)
    if (s->points[i].value > 0 && isfinite(s->points[i].value)) return true;
  return false;
}

bool tb_plot_history(struct tb_page *page, const struct tb_plot_subject *subject) {
  const struct tb_plot_history *h = subject->options->history;
  double *weights = h ? malloc(sizeof *weights * ((size_t)h->n_series + 1)) : NULL;
  int n = 0, shown = 0;
  if (!h) return true;
  if (!weights) return false;
  for (int i = 0; i < h->n_series; i++)
    if (can_draw(&h->series[i])) weights[n++] = moved(&h->series[i]);
  const double least = n > PANELS_MAX ? tb_plot_least_kept(weights, n, PANELS_MAX) : -INFINITY;
  free(weights);
  for (int i = 0; i < h->n_series && shown < PANELS_MAX; i++) {
    if (!can_draw(&h->series[i]) || moved(&h->series[i]) < least) continue;
    add_series(page, h, &h->series[i]);
    shown++;
  }
  if (n > shown)
    tb_page_note(page, "%d of %d histories are left out: those that moved least; case=PATTERN picks others",
                 n - shown, n);
  return true;
}
