/* The picture of a result, drawn by gnuplot (an external program): speedup over batch size with intervals, and bars of what
 * compiling costs cold and from the disk cache.
 *
 * The data file holds one block a curve (index k in gnuplot's sense), then one block with a line a case for the bars. Data and
 * script stay beside the picture, so that it can be restyled. Nothing of the document is pasted into a gnuplot command
 * unquoted: titles go through `quote`. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reporters/reporter.h"

enum { GROUP = 256, TITLE = 320, MAX_CURVES = 64, TICK_LIMIT = 24 };

static const double ns_per_ms = 1e6;

/* Okabe and Ito's colours, told apart by colour-blind readers. */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"};
enum { N_COLOURS = sizeof colours / sizeof *colours };

struct curve { char title[TITLE]; int points; double batch; /* of the newest point */ };

/* A single-quoted gnuplot string: quotes doubled, control characters dropped. */
static void quote(FILE *out, const char *text) {
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

static int find_curves(const cJSON *cases, struct curve *curves) {
  int n = 0;
  const cJSON *c;
  cJSON_ArrayForEach(c, cases) {
    char title[TITLE];
    if (!has_point(c)) continue;
    curve_title(c, title);
    int k = 0;
    while (k < n && strcmp(curves[k].title, title)) k++;
    if (k == MAX_CURVES) continue;
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

static bool write_data(const cJSON *result, const char *path, const struct curve *curves, int n_curves, struct bars *bars) {
  const cJSON *cases = tb_doc_at(result, "cases");
  const cJSON **sorted = calloc((size_t)cJSON_GetArraySize(cases) + 1, sizeof *sorted);
  FILE *out = fopen(path, "we");
  if (!out || !sorted) {
    if (out) fclose(out);
    free(sorted);
    return false;
  }
  for (int i = 0; i < n_curves; i++) put_curve(out, cases, &curves[i], sorted);
  *bars = put_bars(out, cases);
  free(sorted);
  const bool good = !ferror(out);
  return !fclose(out) && good;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void put_speedup_panel(FILE *out, const char *data, const struct curve *curves, int n_curves) {
  fputs("set title 'speedup over the uncompiled function (95% interval)'\nset xlabel 'batch'\nset ylabel 'speedup (x)'\n"
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
    quote(out, data);
    fprintf(out, " index %d using 1:2 with lines lw 2 lc rgb '%s' notitle, \\\n  ", i, colour);
    quote(out, data);
    fprintf(out, " index %d using 1:2:3:4 with yerrorbars lw 2 pt %d lc rgb '%s' title ", i, 4 + i, colour);
    quote(out, curves[i].title);
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
    quote(out, data);
    fprintf(out, " index %d using %d:xtic(1) lc rgb '%s' title '%s'", index, series[i].column, colours[1 - i], series[i].title);
    comma = ", \\\n  ";
  }
  fputs("\n", out);
}

static bool write_script(const cJSON *result, const struct tb_plot *plot, const struct curve *curves, int n_curves, const struct bars *bars) {
  static const struct { const char *terminal; bool svg; } terminals[] = {
      {"svg size 900,1000 dynamic background '#ffffff' font 'sans,13'", true}, {"pngcairo size 900,1000 background '#ffffff' font 'sans,11'", false}};
  const char *suite = tb_doc_text(cJSON_GetArrayItem(tb_doc_at(result, "cases"), 0), "case.suite", "");
  FILE *out = fopen(plot->script, "we");
  if (!out) return false;
  fprintf(out, "# Draws %s; run it in its folder: gnuplot %s\n", base_name(plot->svg), base_name(plot->script));
  for (size_t i = 0; i < sizeof terminals / sizeof *terminals; i++) {
    fprintf(out, "reset\nset terminal %s\nset output ", terminals[i].terminal);
    quote(out, base_name(terminals[i].svg ? plot->svg : plot->png));
    fprintf(out, "\nset encoding utf8\nset multiplot layout %d,1 title ", (n_curves > 0) + (bars->count > 0));
    char title[TITLE];
    snprintf(title, sizeof title, "%s · %s", suite, tb_doc_text(result, "started", ""));
    quote(out, title);
    fputs(" noenhanced\n", out);
    if (n_curves) put_speedup_panel(out, base_name(plot->data), curves, n_curves);
    if (bars->count) put_cost_panel(out, base_name(plot->data), n_curves, bars);
    fputs("unset multiplot\nunset output\n", out);
  }
  const bool good = !ferror(out);
  return !fclose(out) && good;
}

/* Exit status of gnuplot in the script's folder; 127: there is none; -1: it could not be started or was killed. */
static int run_gnuplot(const char *script) {
  char folder[TB_PLOT_PATH];
  snprintf(folder, sizeof folder, "%s", script);
  char *slash = strrchr(folder, '/');
  if (slash) *slash = '\0';
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    if (slash && chdir(slash == folder ? "/" : folder)) _exit(126);
    execlp("gnuplot", "gnuplot", base_name(script), (char *)NULL);
    _exit(errno == ENOENT ? 127 : 126);
  }
  int status;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool file_there(const char *path) { return access(path, R_OK) == 0; }

bool tb_plot_result(const cJSON *result, const char *stem, struct tb_plot *plot) {
  memset(plot, 0, sizeof *plot);
  struct curve *curves = calloc(MAX_CURVES, sizeof *curves);
  if (!curves || strlen(stem) + sizeof ".svg" > TB_PLOT_PATH) {
    free(curves);
    snprintf(plot->message, sizeof plot->message, "%s", curves ? "the path is too long" : "out of memory");
    return false;
  }
  snprintf(plot->data, sizeof plot->data, "%s.dat", stem);
  snprintf(plot->script, sizeof plot->script, "%s.gp", stem);
  snprintf(plot->svg, sizeof plot->svg, "%s.svg", stem);
  snprintf(plot->png, sizeof plot->png, "%s.png", stem);
  const int n_curves = find_curves(tb_doc_at(result, "cases"), curves);
  struct bars bars = {0};
  const bool written = write_data(result, plot->data, curves, n_curves, &bars) && write_script(result, plot, curves, n_curves, &bars);
  free(curves);
  if (!written) {
    snprintf(plot->message, sizeof plot->message, "%s: %s", plot->script, strerror(errno));
    return false;
  }
  if (!n_curves && !bars.count) {
    snprintf(plot->message, sizeof plot->message, "nothing to draw: no case has a speedup or a compile time");
    return true;
  }
  const int status = run_gnuplot(plot->script);
  plot->drawn = !status && file_there(plot->svg) && file_there(plot->png);
  if (status == 127)
    snprintf(plot->message, sizeof plot->message, "gnuplot is not installed (Debian package: gnuplot-nox); data and script are in %s and %s", plot->data, plot->script);
  else if (!plot->drawn)
    snprintf(plot->message, sizeof plot->message, "gnuplot failed (exit status %d); data and script are in %s and %s", status, plot->data, plot->script);
  return true;
}
