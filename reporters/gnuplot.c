/* The picture of a result, drawn by gnuplot (an external program): speedup over batch size with intervals, and bars of what
 * compiling costs cold and from the disk cache; of a result with techniques of compile time off, what each of them buys.
 *
 * The data file holds one block a curve (index k in gnuplot's sense), then one block with a line a case for the bars. Data and
 * script stay beside the picture, so that it can be restyled. Nothing of the document is pasted into a gnuplot command
 * unquoted: titles go through `quote`. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reporters/gnuplot.h"

enum { GROUP = 256, TITLE = 320, MAX_CURVES = 64, TICK_LIMIT = 24 };

static const double ns_per_ms = 1e6;

/* Okabe and Ito's colours, told apart by colour-blind readers. */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"};
enum { N_COLOURS = sizeof colours / sizeof *colours };

const char *tb_plot_colour(int i) { return colours[i % N_COLOURS]; }

struct curve { char title[TITLE]; int points; double batch; /* of the newest point */ };

void tb_plot_quote(FILE *out, const char *text) {
  fputc('\'', out);
  for (; *text; text++) {
    if (*text == '\'') fputs("''", out);
    else if ((unsigned char)*text >= ' ') fputc(*text, out);
  }
  fputc('\'', out);
}

static void curve_title(const cJSON *c, char *title) {
  char group[GROUP];
  tb_case_group(c, group, sizeof group);
  snprintf(title, TITLE, "%s, %.60s", group, tb_case_column(c));
}

static bool has_point(const cJSON *c) { return !isnan(tb_doc_number(c, "case.batch")) && tb_doc_number(c, "speedup.ratio") > 0; }

/* *left_out: cases of further curves than there can be. */
static int find_curves(const cJSON *cases, struct curve *curves, int *left_out) {
  int n = 0;
  *left_out = 0;
  const cJSON *c;
  cJSON_ArrayForEach(c, cases) {
    char title[TITLE];
    if (!has_point(c)) continue;
    curve_title(c, title);
    int k = 0;
    while (k < n && strcmp(curves[k].title, title)) k++;
    if (k == MAX_CURVES) {
      ++*left_out;
      continue;
    }
    if (k == n) snprintf(curves[n++].title, TITLE, "%s", title);
    curves[k].points++;
    curves[k].batch = tb_doc_number(c, "case.batch");
  }
  return n;
}

static int by_batch(const void *a, const void *b) {
  const double x = tb_doc_number(*(const cJSON *const *)a, "case.batch"), y = tb_doc_number(*(const cJSON *const *)b, "case.batch");
  return (x > y) - (x < y);
}

static double or_else(double value, double otherwise) { return isnan(value) ? otherwise : value; }

/* One block: batch, ratio, lo, hi; in order of batch. */
static void put_curve(FILE *out, const cJSON *cases, const struct curve *curve, const cJSON **sorted) {
  int n = 0;
  const cJSON *c;
  cJSON_ArrayForEach(c, cases) {
    char title[TITLE];
    curve_title(c, title);
    if (has_point(c) && !strcmp(title, curve->title)) sorted[n++] = c;
  }
  qsort(sorted, (size_t)n, sizeof *sorted, by_batch);
  fprintf(out, "# %s\n# batch speedup lo hi\n", curve->title);
  for (int i = 0; i < n; i++) {
    const double ratio = tb_doc_number(sorted[i], "speedup.ratio");
    fprintf(out, "%.17g %.17g %.17g %.17g\n", tb_doc_number(sorted[i], "case.batch"), ratio, or_else(tb_doc_number(sorted[i], "speedup.lo"), ratio),
            or_else(tb_doc_number(sorted[i], "speedup.hi"), ratio));
  }
  fputs("\n\n", out);
}

static void put_bar_label(FILE *out, const cJSON *c) {
  char label[TITLE];
  const double batch = tb_doc_number(c, "case.batch");
  if (isnan(batch)) snprintf(label, sizeof label, "%s %s", tb_doc_text(c, "case.workload", "?"), tb_case_column(c));
  else snprintf(label, sizeof label, "%s %s b%.0f", tb_doc_text(c, "case.workload", "?"), tb_case_column(c), batch);
  fputc('"', out);
  for (const char *t = label; *t; t++) fputc(*t == '"' || *t == '\\' || (unsigned char)*t < ' ' ? '_' : *t, out);
  fputc('"', out);
}

struct bars { int count; bool cold, disk; }; /* cases, and which of the two any of them has */

/* The last block: label, cold (ms), disk (ms). */
static struct bars put_bars(FILE *out, const cJSON *cases) {
  struct bars bars = {0};
  const cJSON *c;
  fputs("# case cold_ms disk_ms\n", out);
  cJSON_ArrayForEach(c, cases) {
    const double cold = tb_doc_number(c, "compile.cold_ns.median"), disk = tb_doc_number(c, "compile.disk_ns.median");
    if (isnan(cold) && isnan(disk)) continue;
    put_bar_label(out, c);
    fprintf(out, " %.17g %.17g\n", cold / ns_per_ms, disk / ns_per_ms);
    bars.count++;
    bars.cold |= !isnan(cold);
    bars.disk |= !isnan(disk);
  }
  return bars;
}

/* --- files: written under another name, and renamed when they are whole --- */

enum { DRAFT_PATH = TB_PLOT_PATH + 8 };

struct draft { FILE *out; const char *path; char name[DRAFT_PATH]; };

static bool open_draft(struct draft *d, const char *path) {
  d->path = path;
  snprintf(d->name, sizeof d->name, "%s.part", path);
  d->out = fopen(d->name, "we");
  return d->out != NULL;
}

/* False, with errno, when it was not written. */
static bool close_draft(struct draft *d) {
  bool good = !fflush(d->out) && !ferror(d->out);
  int saved = errno;
  if (fclose(d->out) && good) good = false, saved = errno;
  if (good && rename(d->name, d->path)) good = false, saved = errno;
  if (!good) unlink(d->name);
  errno = saved;
  return good;
}

static bool write_data(const cJSON *result, const char *path, const struct curve *curves, int n_curves, struct bars *bars) {
  const cJSON *cases = tb_doc_at(result, "cases");
  const cJSON **sorted = calloc((size_t)cJSON_GetArraySize(cases) + 1, sizeof *sorted);
  struct draft draft;
  if (!sorted || !open_draft(&draft, path)) {
    free(sorted);
    return false;
  }
  for (int i = 0; i < n_curves; i++) put_curve(draft.out, cases, &curves[i], sorted);
  *bars = put_bars(draft.out, cases);
  free(sorted);
  return close_draft(&draft);
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void put_speedup_panel(FILE *out, const char *data, const struct curve *curves, int n_curves, bool over_blocks) {
  fprintf(out, "set title 'speedup over the uncompiled function (95%% interval%s)'\n", over_blocks ? " over the blocks of one pair of processes" : "");
  fputs("set xlabel 'batch'\nset ylabel 'speedup (x)'\n"
        "set logscale x 2\nset logscale y 2\nset grid\nset key outside below maxcols 1 noenhanced\nset xtics nomirror\nset offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05\n"
        "set yrange [*<0.9:1.1<*]\n", out);
  double first = NAN;
  bool several = false;
  for (int i = 0; i < n_curves; i++) several |= curves[i].points > 1 || (i && curves[i].batch != first), first = curves[i].batch;
  if (!several && n_curves) fprintf(out, "set xrange [%.17g:%.17g]\n", first / 2, first * 2);
  fputs("plot 1 with lines lc rgb '#888888' dt 2 notitle", out);
  for (int i = 0; i < n_curves; i++) {
    const char *colour = colours[i % N_COLOURS];
    fprintf(out, ", \\\n  ");
    tb_plot_quote(out, data);
    fprintf(out, " index %d using 1:2 with lines lw 2 lc rgb '%s' notitle, \\\n  ", i, colour);
    tb_plot_quote(out, data);
    fprintf(out, " index %d using 1:2:3:4 with yerrorbars lw 2 pt %d lc rgb '%s' title ", i, 4 + i, colour);
    tb_plot_quote(out, curves[i].title);
  }
  fputs("\n", out);
}

static void put_cost_panel(FILE *out, const char *data, int index, const struct bars *bars) {
  fputs("unset logscale\nset autoscale x\nset title 'time to the first kernel'\nunset xlabel\nset ylabel 'ms'\nset logscale y 10\nset style data histograms\n"
        "set style histogram clustered gap 1\nset style fill solid 0.9 noborder\nset boxwidth 0.9\nset key outside below maxcols 2\n"
        "unset offsets\nset yrange [*:*]\n", out);
  fprintf(out, "set xtics rotate by %d noenhanced%s\n", bars->count > 6 ? -60 : -20, bars->count > TICK_LIMIT ? " font ',8'" : "");
  static const struct { int column; const char *title; } series[] = {{2, "cold cache"}, {3, "disk cache, fresh process"}};
  const char *comma = "plot ";
  for (int i = 0; i < 2; i++) { /* gnuplot refuses a column without a value */
    if (!(i ? bars->disk : bars->cold)) continue;
    fputs(comma, out);
    tb_plot_quote(out, data);
    fprintf(out, " index %d using %d:xtic(1) lc rgb '%s' title '%s'", index, series[i].column, colours[1 - i], series[i].title);
    comma = ", \\\n  ";
  }
  fputs("\n", out);
}

static bool any_over_blocks(const cJSON *result) {
  const cJSON *c;
  cJSON_ArrayForEach(c, tb_doc_at(result, "cases"))
    if (!strcmp(tb_doc_text(c, "speedup.interval_over", ""), "blocks")) return true;
  return false;
}

/* What a script draws: the panels, from the data file of that name. */
struct panels { int count; void (*put)(FILE *out, const char *data, const void *what); const void *what; };

static bool write_script(const cJSON *result, const struct tb_plot *plot, const struct panels *panels) {
  static const struct { const char *terminal; bool svg; } terminals[] = {
      {"svg size 900,1000 dynamic background '#ffffff' font 'sans,13'", true}, {"pngcairo size 900,1000 background '#ffffff' font 'sans,11'", false}};
  const char *suite = tb_doc_text(cJSON_GetArrayItem(tb_doc_at(result, "cases"), 0), "case.suite", "");
  struct draft draft;
  if (!open_draft(&draft, plot->script)) return false;
  FILE *out = draft.out;
  fprintf(out, "# Draws %s; run it in its folder: gnuplot %s\n", base_name(plot->svg), base_name(plot->script));
  for (size_t i = 0; i < sizeof terminals / sizeof *terminals; i++) {
    fprintf(out, "reset\nset terminal %s\nset output ", terminals[i].terminal);
    tb_plot_quote(out, base_name(terminals[i].svg ? plot->svg : plot->png));
    fprintf(out, "\nset encoding utf8\nset multiplot layout %d,1 title ", panels->count);
    char title[TITLE];
    snprintf(title, sizeof title, "%s · %s", suite, tb_doc_text(result, "started", ""));
    tb_plot_quote(out, title);
    fputs(" noenhanced\n", out);
    panels->put(out, base_name(plot->data), panels->what);
    fputs("unset multiplot\nunset output\n", out);
  }
  return close_draft(&draft);
}

/* "FILE was not written: reason", from errno. */
static bool not_written(struct tb_plot *plot, const char *path) {
  snprintf(plot->message, sizeof plot->message, "%s was not written: %s", path, strerror(errno));
  return false;
}

static bool name_files(struct tb_plot *plot, const char *stem) {
  memset(plot, 0, sizeof *plot);
  if (strlen(stem) + sizeof ".svg" > TB_PLOT_PATH) return snprintf(plot->message, sizeof plot->message, "the path is too long"), false;
  snprintf(plot->data, sizeof plot->data, "%s.dat", stem);
  snprintf(plot->script, sizeof plot->script, "%s.gp", stem);
  snprintf(plot->svg, sizeof plot->svg, "%s.svg", stem);
  snprintf(plot->png, sizeof plot->png, "%s.png", stem);
  return true;
}

/* --- a result as curves and bars --- */

struct curves { const struct curve *data; int count; bool over_blocks; struct bars bars; };

static void put_curves(FILE *out, const char *data, const void *what) {
  const struct curves *c = what;
  if (c->count) put_speedup_panel(out, data, c->data, c->count, c->over_blocks);
  if (c->bars.count) put_cost_panel(out, data, c->count, &c->bars);
}

static bool plot_curves(const cJSON *result, struct tb_plot *plot) {
  struct curve *curves = calloc(MAX_CURVES, sizeof *curves);
  if (!curves) return snprintf(plot->message, sizeof plot->message, "out of memory"), false;
  int left_out;
  struct curves all = {.data = curves, .count = find_curves(tb_doc_at(result, "cases"), curves, &left_out), .over_blocks = any_over_blocks(result)};
  const bool data = write_data(result, plot->data, curves, all.count, &all.bars) || not_written(plot, plot->data);
  const struct panels panels = {(all.count > 0) + (all.bars.count > 0), put_curves, &all};
  const bool script = data && (write_script(result, plot, &panels) || not_written(plot, plot->script));
  free(curves);
  if (!script) return false;
  if (panels.count) plot->drawn = tb_gnuplot_draw(plot);
  else snprintf(plot->message, sizeof plot->message, "nothing to draw: no case has a speedup or a compile time");
  if (plot->drawn && left_out)
    snprintf(plot->message, sizeof plot->message, "only the first %d curves are drawn: %d case%s left out", MAX_CURVES, left_out, left_out == 1 ? " is" : "s are");
  return true;
}

/* --- an ablation --- */

static void put_ablation(FILE *out, const char *data, const void *what) { tb_plot_ablation_panel(out, data, what); }

static bool write_ablation(const struct tb_plot *plot, const struct tb_ablation *a, tb_half_width_function *half_width) {
  struct draft draft;
  if (!open_draft(&draft, plot->data)) return false;
  tb_plot_ablation_data(draft.out, a, half_width);
  return close_draft(&draft);
}

static bool plot_ablation(const cJSON *result, struct tb_plot *plot, const struct tb_ablation *a, tb_half_width_function *half_width) {
  const struct panels panels = {1, put_ablation, a};
  if (!write_ablation(plot, a, half_width)) return not_written(plot, plot->data);
  if (!write_script(result, plot, &panels)) return not_written(plot, plot->script);
  plot->drawn = tb_gnuplot_draw(plot);
  return true;
}

bool tb_plot_result(const cJSON *result, const char *stem, tb_half_width_function *half_width, struct tb_plot *plot) {
  struct tb_ablation a;
  if (!name_files(plot, stem)) return false;
  if (!tb_ablation_make(result, &a)) {
    tb_ablation_free(&a);
    return snprintf(plot->message, sizeof plot->message, "out of memory"), false;
  }
  const bool good = a.n_rows ? plot_ablation(result, plot, &a, half_width) : plot_curves(result, plot);
  tb_ablation_free(&a);
  return good;
}
