/* Bars of an ablation: a group for each set of techniques that is off, in it a bar for each model and one
 * over all of them, with intervals. Of many models only the one over all is a bar; the models are points.
 *
 * Data: a block a model: place, ratio, lo, hi; lo and hi are NaN where fewer than two replicates gave no
 * interval. */
#include <math.h>
#include <stdlib.h>

#include "reporters/gnuplot/gnuplot.h"

enum {
  BARS_MAX = 5 /* models that each have bars */,
  SETS_MAX = 60,
  PANEL_SETS = 20,
  BAR_PIXELS = 13,
  GAP_PIXELS = 10,
  FRAME_PIXELS = 150,
  CURVE_PIXELS = 20
};
static const double group_height = 0.84, filled = 0.9, bar_fill = 0.75, overall_fill = 0.25;

struct chart {
  const struct tb_ablation *a;
  const struct tb_ablation_row **sets; /* a row of each set, in the order of the rows */
  int *places;                         /* of each set, by its number: where it stands among them */
  int *starts, *n_bars; /* of each block: its first row, and how many of its rows are in the panel at hand */
  int n_sets, n_blocks;
  bool points; /* models are points */
};

static bool begins_block(const struct tb_ablation *a, int i) {
  return !i || a->rows[i].on != a->rows[i - 1].on;
}

static bool make_chart(const struct tb_plot_subject *s, struct chart *c) {
  const struct tb_ablation *a = s->ablation;
  *c = (struct chart){.a = a,
                      .sets = calloc((size_t)a->n_rows + 1, sizeof *c->sets),
                      .places = calloc((size_t)a->n_rows + 1, sizeof *c->places),
                      .starts = calloc((size_t)a->n_rows + 1, sizeof *c->starts),
                      .n_bars = calloc((size_t)a->n_rows + 1, sizeof *c->n_bars)};
  if (!c->sets || !c->places || !c->starts || !c->n_bars) return false;
  for (int i = 0; i < a->n_rows; i++) {
    if (begins_block(a, i)) c->starts[c->n_blocks++] = i;
    if (a->rows[i].set == i) c->places[i] = c->n_sets, c->sets[c->n_sets++] = &a->rows[i];
  }
  c->points = a->n_models > BARS_MAX;
  return true;
}

static void free_chart(struct chart *c) {
  free(c->sets);
  free(c->places);
  free(c->starts);
  free(c->n_bars);
}

/* Middle of the row's bar, from that of its group upwards. */
static double offset_of(const struct chart *c, int block) {
  return c->points ? 0 : group_height / c->n_blocks * ((c->n_blocks - 1) / 2.0 - block);
}

struct range {
  double lo, hi;
};

/* The rows of a block that belong to the panel; returns how many. */
static int put_block(struct tb_page *page, const struct chart *c, int from, int block, int first, int count,
                     struct range *range) {
  int n = 0;
  for (int i = from; i < c->a->n_rows && (i == from || !begins_block(c->a, i)); i++) {
    const int place = c->places[c->a->rows[i].set] - first;
    const struct tb_ratio r = tb_ablation_ratio(&c->a->rows[i], TB_ABLATION_COLD);
    if (place < 0 || place >= count || !(r.ratio > 0) || !isfinite(r.ratio)) continue;
    fprintf(page->data, "%.6g %.17g", offset_of(c, block) - place, r.ratio);
    fprintf(page->data, isnan(r.lo) ? " NaN NaN  " : " %.17g %.17g  ", r.lo, r.hi);
    tb_plot_column(page->data, c->a->rows[i].label);
    fputc('\n', page->data);
    range->lo = fmin(range->lo, fmin(r.ratio, isnan(r.lo) ? r.ratio : r.lo));
    range->hi = fmax(range->hi, fmax(r.ratio, isnan(r.hi) ? r.ratio : r.hi));
    n++;
  }
  return n;
}

/* Begins a curve of the plot command. */
static void curve(struct tb_page *page, int block) {
  fputs(", \\\n  ", page->script);
  tb_page_index(page, block);
}

static void put_bars(struct tb_page *page, int block, double thick, int linetype, double fill,
                     const char *title) {
  FILE *out = page->script;
  curve(page, block);
  fprintf(out,
          "using 2:1:($2 < 1 ? $2 : 1):($2 < 1 ? 1 : $2):($1 - %.4g):($1 + %.4g) with boxxyerror lt %d lw 1 "
          "dt 1 fs solid %g border title ",
          thick / 2, thick / 2, linetype, fill);
  tb_plot_quote(out, title);
  curve(page, block);
  fputs("using ($3 == $3 ? $2 : NaN):1:3:4 with xerrorbars lc rgb '#333333' lw 1 dt 1 pt 0 notitle", out);
}

static void put_points(struct tb_page *page, int block, bool first, int n_models) {
  FILE *out = page->script;
  curve(page, block);
  fputs("using 2:1 with points lc rgb '#333333' lw 1 dt 1 pt 6 ps 0.7 ", out);
  if (first)
    fprintf(out, "title 'each of %d models'", n_models);
  else
    fputs("notitle", out);
}

static void title_of(const struct tb_ablation_row *row, char *title) {
  if (row->on)
    tb_case_group(row->on, title, TB_PLOT_TITLE);
  else
    snprintf(title, TB_PLOT_TITLE, "over all models (geometric mean)");
}

/* Bars first, so that points lie upon them. */
static void put_blocks(struct tb_page *page, const struct chart *c, int before, double thick) {
  bool told = false;
  for (int pass = 0; pass < 2; pass++) {
    for (int block = 0; block < c->n_blocks; block++) {
      const struct tb_ablation_row *row = &c->a->rows[c->starts[block]];
      const bool is_bar = !c->points || !row->on;
      char title[TB_PLOT_TITLE];
      if (!c->n_bars[block] || is_bar != !pass) continue;
      title_of(row, title);
      if (is_bar)
        put_bars(page, before + 1 + block, thick, row->on ? block % (TB_PLOT_SERIES - 1) + 1 : TB_PLOT_SERIES,
                 row->on ? bar_fill : overall_fill, title);
      else
        put_points(page, before + 1 + block, !told, c->a->n_models), told = true;
    }
  }
}

static void add_panel(struct tb_page *page, const struct chart *c, int first, int count) {
  struct range range = {1, 1};
  const int before = page->n_blocks, bars = c->points ? 1 : c->n_blocks;
  for (int block = 0; block < c->n_blocks; block++) {
    char title[TB_PLOT_TITLE];
    title_of(&c->a->rows[c->starts[block]], title);
    tb_page_block(page, title,
                  "place  off/on  lo  hi (cold compile without over with; 95% interval)  what is off");
    c->n_bars[block] = put_block(page, c, c->starts[block], block, first, count, &range);
  }
  tb_page_panel(page, FRAME_PIXELS + (BAR_PIXELS * bars + GAP_PIXELS) * count + CURVE_PIXELS * bars,
                bars + c->points, "ablation");
  tb_page_title(page, "cold compile with a technique off, over that with all of them on (95% interval)", "");
  FILE *out = page->script;
  fputs("set ytics scale 0 (", out);
  for (int i = 0; i < count; i++) {
    fputs(i ? ", " : "", out);
    tb_plot_quote_tic(out, c->sets[first + i]->label);
    fprintf(out, " %d", -i);
  }
  fprintf(out, ")\nset yrange [%g:0.6]\nset grid noytics\n", -count + 0.4);
  tb_plot_log_axis(out, 'x', range.lo, range.hi);
  fputs("set xlabel 'time with it off / with it on'\nset arrow from 1, graph 0 to 1, graph 1 nohead lc rgb "
        "'#888888' dt 2\nplot NaN notitle",
        out);
  put_blocks(page, c, before, group_height / bars * filled);
  fputc('\n', out);
}

bool tb_plot_ablation(struct tb_page *page, const struct tb_plot_subject *s) {
  struct chart c;
  if (!s->ablation->n_rows) return true;
  if (!make_chart(s, &c)) return free_chart(&c), false;
  const int shown = c.n_sets < SETS_MAX ? c.n_sets : SETS_MAX;
  if (shown < c.n_sets)
    tb_page_note(page, "%d of %d sets of techniques are left out; case=PATTERN picks others",
                 c.n_sets - shown, c.n_sets);
  for (int first = 0; first < shown; first += PANEL_SETS)
    add_panel(page, &c, first, shown - first < PANEL_SETS ? shown - first : PANEL_SETS);
  free_chart(&c);
  return true;
}
