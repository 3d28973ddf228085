/* Bars of an ablation: a group for each switch, in it a bar for each model and one over all of them, with intervals. The data file has
 * one block a model (index k in gnuplot's sense): place of the bar, ratio, lo, hi. */
#include <math.h>

#include "reporters/gnuplot.h"

enum { TITLE = 320 };
static const double group_width = 0.8;

/* The place of the row's group: the number of its set among the sets, in the order of the rows. */
static int place_of(const struct tb_ablation *a, const struct tb_ablation_row *row) {
  int place = 0;
  for (int i = 0; i < a->n_rows; i++) {
    bool before = false;
    for (int k = 0; k < i && !before; k++) before = tb_ablation_same_set(&a->rows[k], &a->rows[i]);
    if (tb_ablation_same_set(&a->rows[i], row)) return place;
    place += !before;
  }
  return place;
}

static bool begins_block(const struct tb_ablation *a, int i) { return !i || a->rows[i].on != a->rows[i - 1].on; }

static int count_blocks(const struct tb_ablation *a) {
  int n = 0;
  for (int i = 0; i < a->n_rows; i++) n += begins_block(a, i);
  return n;
}

void tb_plot_ablation_data(FILE *out, const struct tb_ablation *a, tb_half_width_function *half_width) {
  const int n_blocks = count_blocks(a);
  const double width = group_width / n_blocks;
  for (int i = 0, block = -1; i < a->n_rows; i++) {
    const struct tb_ratio r = tb_ablation_ratio(&a->rows[i], TB_ABLATION_COLD, half_width);
    if (begins_block(a, i)) block++, fprintf(out, "%s# place ratio lo hi\n", i ? "\n\n" : "");
    if (isnan(r.ratio)) continue;
    fprintf(out, "%.6g %.17g %.17g %.17g # %s\n", place_of(a, &a->rows[i]) + width * (block - (n_blocks - 1) / 2.0), r.ratio, isnan(r.lo) ? r.ratio : r.lo,
            isnan(r.hi) ? r.ratio : r.hi, a->rows[i].label);
  }
  fputs("\n\n", out);
}

static void put_labels(FILE *out, const struct tb_ablation *a) {
  int next = 0;
  fputs("set xtics rotate by -40 noenhanced (", out);
  for (int i = 0; i < a->n_rows; i++) {
    if (place_of(a, &a->rows[i]) != next) continue;
    fputs(next ? ", " : "", out);
    tb_plot_quote(out, a->rows[i].label);
    fprintf(out, " %d", next++);
  }
  fputs(")\n", out);
}

static bool any_bar(const struct tb_ablation *a, int first) {
  for (int i = first; i < a->n_rows && (i == first || !begins_block(a, i)); i++)
    if (a->rows[i].n_pairs[TB_ABLATION_COLD]) return true;
  return false;
}

void tb_plot_ablation_panel(FILE *out, const char *data, const struct tb_ablation *a) {
  const double width = group_width / count_blocks(a);
  const char *comma = "plot 1 with lines lc rgb '#888888' dt 2 notitle";
  fputs("set title 'cold compile with a technique off, over that with all of them on (95% interval)'\nset ylabel 'off / on'\nset grid ytics\n"
        "set key outside below maxcols 3 noenhanced\nset style fill solid 0.9 noborder\nset offsets 0.5, 0.5, 0, 0\nset yrange [0:*]\n", out);
  fprintf(out, "set boxwidth %.6g\n", width);
  put_labels(out, a);
  fputs(comma, out);
  for (int i = 0, block = -1; i < a->n_rows; i++) {
    char title[TITLE] = "over all models";
    if (!begins_block(a, i) || (block++, !any_bar(a, i))) continue;
    if (a->rows[i].on) tb_case_group(a->rows[i].on, title, sizeof title);
    fputs(", \\\n  ", out);
    tb_plot_quote(out, data);
    fprintf(out, " index %d using 1:2 with boxes lc rgb '%s' title ", block, a->rows[i].on ? tb_plot_colour(block) : "#000000");
    tb_plot_quote(out, title);
    fputs(", \\\n  ", out);
    tb_plot_quote(out, data);
    fprintf(out, " index %d using 1:2:3:4 with yerrorbars lc rgb '#444444' pt 0 notitle", block);
  }
  fputs("\n", out);
}
