/* Pictures: every figure of the document lies in the data file where its header says; the script draws it there; what is missing, hostile or
 * too much is neither a crash nor a wrong point. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "reporters/plot.h"

struct fixture { char folder[48], stem[80]; cJSON *cases, *environments, *document; struct tb_plot plot; };

static int open_fixture(void **state) {
  static struct fixture f;
  f = (struct fixture){.folder = "/tmp/tbench-plots-XXXXXX"};
  *state = &f;
  if (!mkdtemp(f.folder)) return 1;
  snprintf(f.stem, sizeof f.stem, "%s/p", f.folder);
  f.document = cJSON_Parse("{\"schema\":1,\"started\":\"2026-01-02T03:04:05Z\",\"environments\":[{\"host\":\"h\",\"bound_to\":\"machine\",\"cpus\":\"0-1\",\"threads\":2,"
                           "\"triad_bytes_per_s\":50e9,\"fma_flops_per_s\":400e9}],\"cases\":[]}");
  f.cases = cJSON_GetObjectItem(f.document, "cases");
  f.environments = cJSON_GetObjectItem(f.document, "environments");
  return 0;
}

static int close_fixture(void **state) {
  struct fixture *f = *state;
  char command[96];
  cJSON_Delete(f->document);
  snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
  return system(command);
}

/* A case with all figures; batch 0: none. */
static cJSON *add_case(struct fixture *f, const char *workload, const char *mode, int batch, double ratio) {
  char text[1024];
  snprintf(text, sizeof text,
           "{\"env\":0,\"case\":{\"suite\":\"s\",\"backend\":\"inductor\",\"mode\":\"%s\",\"device\":\"cpu\",\"dtype\":\"f32\",\"params\":{},\"topology\":\"machine\",\"threads\":2,\"switches\":{}},"
           "\"outcome\":\"ok\",\"steady\":{\"median_ns\":1000},\"speedup\":{\"ratio\":%.17g,\"lo\":%.17g,\"hi\":%.17g},"
           "\"compile\":{\"cold_ns\":{\"median\":4e6,\"samples\":[3e6,4e6,6e6]},\"disk_ns\":{\"median\":5e5,\"samples\":[5e5]},\"memory_ns\":{\"median\":1e5,\"samples\":[1e5,1e5]}},"
           "\"graph\":{\"flops\":8000,\"bytes_moved\":2000}}", mode, ratio, ratio * 0.9, ratio * 1.1);
  cJSON *one = cJSON_Parse(text), *what = cJSON_GetObjectItem(one, "case");
  assert_non_null(one);
  cJSON_AddStringToObject(what, "workload", workload);
  if (batch) cJSON_AddNumberToObject(what, "batch", batch);
  else cJSON_AddNullToObject(what, "batch");
  snprintf(text, sizeof text, "s/%.200s/%s/b%d", workload, mode, batch);
  cJSON_AddStringToObject(one, "id", text);
  cJSON_AddItemToArray(f->cases, one);
  return one;
}

static double half_the_range(const double *values, size_t count, double confidence) {
  (void)confidence;
  return count < 2 ? NAN : fabs(values[0] - values[count - 1]) / 2;
}

static bool has_gnuplot(void) { return !system("command -v gnuplot > /dev/null"); }

static void draw(struct fixture *f, unsigned kinds, unsigned formats, const struct tb_plot_history *history) {
  const struct tb_plot_options options = {.kinds = kinds, .formats = formats, .history = history, .half_width = half_the_range};
  assert_true(tb_plot_result(f->document, f->stem, &options, &f->plot));
  if (has_gnuplot() && !f->plot.drawn && !strstr(f->plot.message, "nothing to draw")) fail_msg("%s", f->plot.message);
}

static char *read_text(const char *path) {
  FILE *in = fopen(path, "r");
  char *text = NULL;
  size_t size = 0;
  if (!in) fail_msg("%s is not there", path);
  const ssize_t n = getdelim(&text, &size, '\0', in);
  fclose(in);
  assert_true(n > 0);
  return text;
}

enum { COLUMNS = 12, LINES = 64 };
struct block { char title[256], columns[256]; double figures[LINES][COLUMNS]; int n_lines, n_columns; };

/* The block of the data file whose first line has that text. Texts in quotes are no figures. */
static struct block read_block(const struct fixture *f, const char *title) {
  static char line[4096];
  struct block b = {.n_lines = 0};
  bool inside = false;
  FILE *in = fopen(f->plot.data, "r");
  assert_non_null(in);
  while (fgets(line, sizeof line, in)) {
    if (!strncmp(line, "# block", 7)) {
      if (inside) break;
      inside = strstr(line, title) != NULL;
      if (inside) snprintf(b.title, sizeof b.title, "%.255s", line), snprintf(b.columns, sizeof b.columns, "%.255s", fgets(line, sizeof line, in));
      continue;
    }
    if (!inside || *line == '\n' || *line == '#') continue;
    int n = 0;
    for (char *at = line, *end; n < COLUMNS; at = end) {
      while (*at == ' ') at++;
      if (*at == '"') {
        end = strchr(at + 1, '"') + 1;
        continue;
      }
      const double value = strtod(at, &end);
      if (end == at) break;
      b.figures[b.n_lines][n++] = value;
    }
    b.n_columns = n;
    b.n_lines++;
    assert_in_range(b.n_lines, 1, LINES - 1);
  }
  fclose(in);
  if (!inside) fail_msg("no block '%s' in %s", title, f->plot.data);
  return b;
}

static int count_text(const char *text, const char *what) {
  int n = 0;
  for (; (text = strstr(text, what)); text += strlen(what)) n++;
  return n;
}

/* --- speedup --- */

/* Centres of the first `count` blue circles of the picture. */
static void read_circles(const struct fixture *f, double x[], double y[], int count) {
  char *text = read_text(f->plot.picture[TB_PLOT_SVG]), *at = text;
  for (int i = 0; i < count; i++) {
    do {
      at = strstr(at + 1, "<use xlink:href='#gpPt6' transform='translate(");
      assert_non_null(at);
    } while (!strstr(at, "color='rgb(  0, 114, 178)'") || strstr(at, "color='rgb(  0, 114, 178)'") > strchr(at, '\n'));
    assert_int_equal(sscanf(strchr(at, '('), "(%lf,%lf", &x[i], &y[i]), 2);
  }
  free(text);
}

static void test_speedup(void **state) {
  struct fixture *f = *state;
  add_case(f, "w", "default", 64, 4);
  add_case(f, "w", "default", 1, 1);
  add_case(f, "w", "default", 8, 2);
  draw(f, 1u << TB_PLOT_SPEEDUP, 0, NULL);
  const struct block b = read_block(f, "w · f32 · cpu, 2 threads on machine, default");
  assert_non_null(strstr(b.columns, "batch  speedup  lo  hi"));
  assert_int_equal(b.n_lines, 3);
  for (int i = 0; i < 3; i++) {
    assert_true(b.figures[i][0] == pow(8, i) && b.figures[i][1] == pow(2, i));
    assert_true(b.figures[i][2] == pow(2, i) * 0.9 && b.figures[i][3] == pow(2, i) * 1.1);
  }
  if (!f->plot.drawn) return;
  double x[3], y[3];
  read_circles(f, x, y, 3);
  assert_true(x[0] < x[1] && x[1] < x[2] && fabs(x[2] - 2 * x[1] + x[0]) < 0.05); /* both axes are logarithmic: equal factors, equal distances */
  assert_true(y[0] > y[1] && y[1] > y[2] && fabs(y[2] - 2 * y[1] + y[0]) < 0.05);
}

/* One replicate has no interval: a point without a bar; values that are none are left out. */
static void test_missing(void **state) {
  struct fixture *f = *state;
  cJSON *one = add_case(f, "w", "default", 1, 2), *none = add_case(f, "w", "default", 2, 2), *last = add_case(f, "w", "default", 4, 3), *odd = add_case(f, "w", "default", 8, 3);
  cJSON_ReplaceItemInObject(cJSON_GetObjectItem(one, "speedup"), "lo", cJSON_CreateNull());
  cJSON_ReplaceItemInObject(cJSON_GetObjectItem(one, "speedup"), "hi", cJSON_CreateNull());
  cJSON_ReplaceItemInObject(none, "speedup", cJSON_CreateNull());
  cJSON_ReplaceItemInObject(none, "graph", cJSON_CreateNull());
  cJSON_ReplaceItemInObject(none, "compile", cJSON_CreateNull());
  cJSON_ReplaceItemInObject(last, "compile", cJSON_Parse("{\"cold_ns\":null,\"disk_ns\":{\"median\":2e6,\"samples\":[]}}"));
  cJSON_ReplaceItemInObject(odd, "speedup", cJSON_Parse("{\"ratio\":1e999}"));
  cJSON_ReplaceItemInObject(odd, "steady", cJSON_Parse("{\"median_ns\":0}"));
  draw(f, 0, 0, NULL);
  const struct block b = read_block(f, ", default");
  assert_int_equal(b.n_lines, 2);
  assert_true(isnan(b.figures[0][2]) && isnan(b.figures[0][3]) && b.figures[1][2] == 3 * 0.9);
  const struct block bars = read_block(f, "time to the first kernel");
  assert_int_equal(bars.n_lines, 3);
  assert_true(isnan(bars.figures[1][1]) && bars.figures[1][4] == 2 && isnan(bars.figures[1][5]) && isnan(bars.figures[1][7]));
}

/* Cases at one batch, or without one, are rows, not curves of one point. */
static void test_rows(void **state) {
  struct fixture *f = *state;
  add_case(f, "a", "default", 8, 2);
  add_case(f, "b", "default", 0, 0.5);
  draw(f, 1u << TB_PLOT_SPEEDUP, 0, NULL);
  const struct block b = read_block(f, "speedup of cases at one batch");
  assert_int_equal(b.n_lines, 2);
  assert_true(b.figures[0][0] == 0 && b.figures[0][1] == 2 && b.figures[1][0] == -1 && b.figures[1][1] == 0.5);
  char *script = read_text(f->plot.script);
  assert_non_null(strstr(script, "'a b8' 0"));
  assert_non_null(strstr(script, "'b' -1"));
  free(script);
}

/* Seven curves a panel at most; beyond eight panels those nearest to 1 are left out, which is told. */
static void test_many(void **state) {
  struct fixture *f = *state;
  enum { CURVES = 60 };
  for (int i = 0; i < CURVES; i++) {
    char name[16];
    snprintf(name, sizeof name, "w%02d", i);
    add_case(f, name, "default", 1, 1 + i / 100.0);
    add_case(f, name, "default", 8, 1 + i / 100.0);
  }
  draw(f, 1u << TB_PLOT_SPEEDUP | 1u << TB_PLOT_COMPILE, 0, NULL);
  char *script = read_text(f->plot.script), *data = read_text(f->plot.data);
  assert_int_equal(count_text(script, ": speedup over batch ---"), 8);
  assert_int_equal(count_text(data, ", default\n"), 56);
  assert_null(strstr(data, ": w03 "));
  assert_non_null(strstr(data, ": w04 "));
  assert_non_null(strstr(f->plot.message, "4 of 60 curves of speedup are left out"));
  assert_non_null(strstr(f->plot.message, "90 of 120 cases are left out of the times to the first kernel"));
  assert_null(strstr(script, "lt 8 "));
  free(script);
  free(data);
}

/* --- the time to the first kernel, and rooflines --- */

static void test_compile(void **state) {
  struct fixture *f = *state;
  add_case(f, "w", "default", 8, 2);
  draw(f, 1u << TB_PLOT_COMPILE, 0, NULL);
  const struct block b = read_block(f, "time to the first kernel");
  static const double expected[] = {0, 4, 3, 6, 0.5, NAN, NAN, 0.1, 0.1, 0.1};
  assert_int_equal(b.n_columns, 10);
  for (int i = 0; i < 10; i++) assert_true(isnan(expected[i]) ? isnan(b.figures[0][i]) : fabs(b.figures[0][i] - expected[i]) < 1e-12);
}

static void test_roofline(void **state) {
  struct fixture *f = *state;
  add_case(f, "w", "default", 8, 2);
  cJSON *threads = add_case(f, "other", "default", 8, 2), *device = add_case(f, "gpu", "default", 8, 2);
  cJSON_ReplaceItemInObject(cJSON_GetObjectItem(threads, "case"), "threads", cJSON_CreateNumber(1));
  cJSON_ReplaceItemInObject(cJSON_GetObjectItem(device, "case"), "device", cJSON_CreateString("cuda"));
  draw(f, 1u << TB_PLOT_ROOFLINE, 0, NULL);
  const struct block b = read_block(f, "w · f32"), roof = read_block(f, "roof");
  assert_int_equal(b.n_lines, 1);
  assert_true(b.figures[0][0] == 4 && b.figures[0][1] == 8 && fabs(b.figures[0][2] - 0.04) < 1e-9); /* 8000 operations, 2000 bytes, 1000 ns: 8 of 200 GFLOP/s */
  assert_int_equal(roof.n_lines, 3);
  assert_true(fabs(roof.figures[0][1] - 50 * roof.figures[0][0]) < 1e-9 && roof.figures[1][0] == 8 && roof.figures[1][1] == 400 && roof.figures[2][1] == 400);
  assert_non_null(strstr(f->plot.message, "2 cases have no roof"));
  char *script = read_text(f->plot.script), *data = read_text(f->plot.data);
  assert_non_null(strstr(script, "2 threads on machine, CPUs 0-1; the roofs were measured there with as many threads"));
  assert_null(strstr(data, "other"));
  free(script);
  free(data);
  cJSON_ReplaceItemInObject(cJSON_GetArrayItem(f->environments, 0), "triad_bytes_per_s", cJSON_CreateNull());
  draw(f, 1u << TB_PLOT_ROOFLINE, 0, NULL);
  assert_false(f->plot.drawn);
  assert_non_null(strstr(f->plot.message, "nothing to draw for kind=roofline"));
}

/* Whatever a case measured before it was wrong or failed is in no picture; how many these are, and why, is told. */
static void test_not_right(void **state) {
  struct fixture *f = *state;
  static const struct { const char *workload, *outcome; int batch; } bad[] = {{"w", "wrong", 64}, {"lone", "crashed", 0}, {"w", "unsupported", 16}, {"other", "wrong", 8}};
  add_case(f, "w", "default", 1, 2);
  add_case(f, "w", "default", 8, 2);
  for (int i = 0; i < 4; i++) {
    cJSON *one = add_case(f, bad[i].workload, "default", bad[i].batch, 7);
    cJSON_ReplaceItemInObject(one, "outcome", cJSON_CreateString(bad[i].outcome));
    cJSON_AddStringToObject(cJSON_GetObjectItem(one, "speedup"), "interval_over", "blocks");
    cJSON_ReplaceItemInObject(cJSON_GetObjectItem(one, "case"), "device", cJSON_CreateString(i ? "cpu" : "cuda"));
  }
  draw(f, 1u << TB_PLOT_SPEEDUP | 1u << TB_PLOT_COMPILE | 1u << TB_PLOT_ROOFLINE, 1u << TB_PLOT_SVG, NULL);
  static const char told[] = "4 cases not drawn: 2 wrong, 1 crashed, 1 unsupported";
  char *script = read_text(f->plot.script), *data = read_text(f->plot.data);
  assert_int_equal(count_text(data, "s/w/default/b"), 3 * 2);
  assert_null(strstr(data, "lone"));
  assert_null(strstr(data, "other"));
  assert_null(strstr(script, "over the blocks"));
  assert_non_null(strstr(script, told));
  assert_null(strstr(f->plot.message, "no roof"));
  if (f->plot.drawn) {
    char *svg = read_text(f->plot.picture[TB_PLOT_SVG]);
    assert_non_null(strstr(f->plot.message, told));
    assert_non_null(strstr(svg, told));
    free(svg);
  }
  free(script);
  free(data);
  cJSON *one;
  cJSON_ArrayForEach(one, f->cases) cJSON_ReplaceItemInObject(one, "outcome", cJSON_CreateString("wrong"));
  draw(f, 1u << TB_PLOT_SPEEDUP | 1u << TB_PLOT_COMPILE | 1u << TB_PLOT_ROOFLINE, 0, NULL);
  assert_false(f->plot.drawn);
  assert_non_null(strstr(f->plot.message, "6 cases not drawn: 6 wrong; nothing to draw for kind=speedup: no case that is right has a speedup"));
  assert_non_null(strstr(f->plot.message, "nothing to draw for kind=compile"));
  assert_non_null(strstr(f->plot.message, "nothing to draw for kind=roofline"));
}

/* Where a text of the picture begins, in pixels from the left. */
static double left_of(const char *svg, const char *text) {
  static const char move[] = "translate(";
  char whole[64];
  snprintf(whole, sizeof whole, "<text>%s</text>", text);
  const char *at = strstr(svg, whole), *before = NULL;
  double x = NAN;
  assert_non_null(at);
  for (const char *next = svg; (next = strstr(next, move)) && next < at; next++) before = next;
  assert_non_null(before);
  assert_int_equal(sscanf(before + strlen(move), "%lf", &x), 1);
  return x;
}

/* Long names leave little width: the legend stands below one another, and within the page. */
static void test_compile_legend(void **state) {
  struct fixture *f = *state;
  enum { WIDTH = 960, LETTER = 9 };
  static const char *const entries[] = {"cold cache", "disk cache, fresh process", "in memory"};
  add_case(f, "a_workload_with_a_rather_long_name_of_its_own_one", "default", 1, 2);
  add_case(f, "a_workload_with_a_rather_long_name_of_its_own_two", "max-autotune", 1, 2);
  draw(f, 1u << TB_PLOT_COMPILE, 1u << TB_PLOT_SVG, NULL);
  if (!f->plot.drawn) return;
  char *svg = read_text(f->plot.picture[TB_PLOT_SVG]);
  for (int i = 0; i < 3; i++) {
    const double x = left_of(svg, entries[i]);
    assert_true(x == left_of(svg, entries[0]));
    assert_true(x > 0 && x + LETTER * (double)strlen(entries[i]) < WIDTH);
  }
  free(svg);
}

/* --- history --- */

static const struct tb_plot_run runs[] = {{"2026-01-01T00:00:00Z", "aaaaaaaaaaaa"}, {"2026-01-02T00:00:00Z", "bbbbbbbbbbbb"}, {"2026-01-03T00:00:00Z", "it's } \"%s\""}};

static void test_history(void **state) {
  struct fixture *f = *state;
  static const struct tb_plot_point points[] = {{0, 2000}, {1, 2100}, {2, 3000}}, one[] = {{1, 5}};
  static const struct tb_plot_segment segments[] = {{0, 1, 2050, NAN, NAN}, {2, 3, 3000, 2900, 3100}}, alone[] = {{1, 3, 5, NAN, NAN}};
  static const struct tb_plot_change changes[] = {{2, 3000 / 2050.0, 0.005, NULL}, {1, 0.9, 0.005, NULL}, {3, NAN, 0, "new 'compiler' {"}};
  const struct tb_plot_series series[] = {{"s/w/b1", false, points, segments, changes, 3, 2, 3}, {"s/one point", true, one, alone, NULL, 1, 1, 0}, {"s/none", true, NULL, NULL, NULL, 0, 0, 0}};
  const struct tb_plot_history history = {runs, series, 3, 3, 0.95};
  draw(f, 0, 0, &history);
  const struct block p = read_block(f, "s/w/b1"), s = read_block(f, "its segments"), c = read_block(f, "its changes"), single = read_block(f, "s/one point");
  assert_int_equal(p.n_lines, 3);
  for (int i = 0; i < 3; i++) assert_true(p.figures[i][0] == points[i].run && p.figures[i][1] == points[i].value / 1000);
  assert_non_null(strstr(p.columns, "microseconds"));
  assert_true(s.n_lines == 2 && isnan(s.figures[0][3]) && s.figures[1][2] == 3 && s.figures[1][3] == 2.9 && s.figures[1][4] == 3.1 && s.figures[1][1] == 3);
  assert_true(c.n_lines == 3 && c.figures[0][0] == 1.5 && fabs(c.figures[0][1] - 3000 / 2050.0) < 1e-5 && c.figures[0][3] == 1 && c.figures[1][3] == -1 && c.figures[2][3] == 0 && c.figures[2][0] == 2.5);
  assert_true(single.n_lines == 1 && single.figures[0][1] == 5);
  assert_non_null(strstr(single.columns, "times of the probe kernel"));
  char *data = read_text(f->plot.data);
  assert_non_null(strstr(data, "\"+46.3% it's }"));
  assert_non_null(strstr(data, "\"new 'compiler' {\""));
  assert_null(strstr(data, "s/none"));
  free(data);
}

/* Ten panels; those that moved most. */
static void test_history_many(void **state) {
  struct fixture *f = *state;
  enum { SERIES = 14 };
  static const struct tb_plot_point points[] = {{0, 2}, {2, 3}};
  static struct tb_plot_change changes[SERIES];
  static char names[SERIES][16];
  struct tb_plot_series series[SERIES];
  for (int i = 0; i < SERIES; i++) {
    changes[i] = (struct tb_plot_change){2, 1 + 0.01 * ((i * 5) % SERIES), 0.01, NULL};
    snprintf(names[i], sizeof names[i], "name%02d", i);
    series[i] = (struct tb_plot_series){names[i], true, points, NULL, &changes[i], 2, 0, 1};
  }
  const struct tb_plot_history history = {runs, series, 3, SERIES, 0.95};
  draw(f, 1u << TB_PLOT_HISTORY, 0, &history);
  char *data = read_text(f->plot.data);
  for (int i = 0; i < SERIES; i++) assert_int_equal(strstr(data, names[i]) != NULL, (i * 5) % SERIES >= SERIES - 10);
  assert_non_null(strstr(f->plot.message, "4 of 14 histories are left out"));
  free(data);
}

/* --- ablation --- */

static cJSON *add_off(struct fixture *f, const char *workload, const char *off, const char *samples) {
  cJSON *one = add_case(f, workload, "default", 8, 2);
  if (off) cJSON_AddStringToObject(cJSON_GetObjectItem(cJSON_GetObjectItem(one, "case"), "switches"), off, "off");
  cJSON_ReplaceItemInObject(cJSON_GetObjectItem(cJSON_GetObjectItem(one, "compile"), "cold_ns"), "samples", cJSON_Parse(samples));
  return one;
}

/* Of one replicate no interval; of many models one bar, and the models as points. */
static void test_ablation(void **state) {
  struct fixture *f = *state;
  add_off(f, "m", NULL, "[100]");
  add_off(f, "m", "opt.key_cache", "[150]");
  draw(f, 0, 0, NULL);
  const struct block b = read_block(f, "m · f32");
  assert_true(b.n_lines == 1 && fabs(b.figures[0][1] - 1.5) < 1e-12 && isnan(b.figures[0][2]) && isnan(b.figures[0][3]));
  for (int i = 0; i < 6; i++) {
    char name[16];
    snprintf(name, sizeof name, "m%d", i);
    add_off(f, name, NULL, "[100,100]");
    add_off(f, name, "opt.key_cache", "[121,144]");
  }
  draw(f, 0, 0, NULL);
  char *script = read_text(f->plot.script);
  assert_non_null(strstr(script, "'each of 7 models'"));
  assert_int_equal(count_text(script, "with boxxyerror"), 1);
  free(script);
}

/* --- files and scripts --- */

static void test_formats(void **state) {
  struct fixture *f = *state;
  add_case(f, "w", "default", 8, 2);
  draw(f, 0, 1u << TB_PLOT_PDF, NULL);
  assert_string_equal(f->plot.picture[TB_PLOT_SVG], "");
  char svg[96];
  snprintf(svg, sizeof svg, "%s.svg", f->stem);
  assert_int_equal(access(svg, F_OK), -1);
  if (f->plot.drawn) assert_int_equal(access(f->plot.picture[TB_PLOT_PDF], F_OK), 0);
}

/* The script draws the same picture again by itself, in its folder. */
static void test_script_alone(void **state) {
  struct fixture *f = *state;
  char command[256];
  add_case(f, "w", "default", 1, 2);
  add_case(f, "w", "default", 8, 2);
  draw(f, 0, 1u << TB_PLOT_SVG, NULL);
  if (!f->plot.drawn) return;
  snprintf(command, sizeof command, "cd '%s' && mv p.svg first.svg && env -u DISPLAY gnuplot p.gp && cmp -s p.svg first.svg", f->folder);
  assert_int_equal(system(command), 0);
}

/* Names stay names: nothing is run, no format is taken, the picture is well-formed. */
static void test_hostile(void **state) {
  struct fixture *f = *state;
  static const char *const names[] = {"it's {odd} }", "%d %s 100%", "quote\" back\\slash", "<b>&amp;</b> `touch ran`", "'; system('touch ran'); '", "x\ny\tz", "\xff\xc3(\xed\xa0\x80", "漢字 \xe2\x80\xae", "# hash",
                                      "a very long name that goes on and on and on, for no reason at all, until nobody reads it any longer, and then further"};
  enum { NAMES = sizeof names / sizeof *names };
  static const struct tb_plot_point points[] = {{0, 2}, {2, 3}};
  struct tb_plot_series series[NAMES];
  struct tb_plot_change changes[NAMES];
  for (int i = 0; i < NAMES; i++) {
    add_case(f, names[i], "default", 1, 2);
    add_case(f, names[i], "default", 8, 2);
    add_case(f, names[i], "max", 0, 2);
    changes[i] = (struct tb_plot_change){1, 1.1, 0, names[i]};
    series[i] = (struct tb_plot_series){names[i], true, points, NULL, &changes[i], 2, 0, 1};
  }
  const struct tb_plot_history history = {runs, series, 3, NAMES, 0.95};
  draw(f, 1u << TB_PLOT_SPEEDUP | 1u << TB_PLOT_COMPILE | 1u << TB_PLOT_ROOFLINE | 1u << TB_PLOT_HISTORY, 0, &history);
  char path[96];
  snprintf(path, sizeof path, "%s/ran", f->folder);
  assert_int_equal(access(path, F_OK), -1);
  if (!f->plot.drawn) return;
  char *svg = read_text(f->plot.picture[TB_PLOT_SVG]);
  assert_null(strstr(svg, "<b>"));
  assert_non_null(strstr(svg, "it’s {odd} }"));
  assert_non_null(strstr(svg, "%d %s 100%"));
  for (const unsigned char *at = (const unsigned char *)svg; *at; at++) assert_true(*at >= ' ' || *at == '\n' || *at == '\t');
  assert_null(strstr(svg, "\xff"));
  free(svg);
}

/* Names of files are taken byte for byte: nothing is run, nothing is written elsewhere. */
static void test_hostile_files(void **state) {
  struct fixture *f = *state;
  static const char *const names[] = {"'quote", "|touch ran", "<touch ran", "`touch ran`", "line\nend", "back\\slash\"%s{}$x", "-e", "漢字", "~"};
  add_case(f, "w", "default", 8, 2);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    snprintf(f->stem, sizeof f->stem, "%s/%s", f->folder, names[i]);
    draw(f, 0, 1u << TB_PLOT_SVG, NULL);
    char *data = read_text(f->plot.data);
    assert_non_null(strstr(data, "s/w/default/b8"));
    free(data);
  }
  char path[96];
  snprintf(path, sizeof path, "%s/ran", f->folder);
  assert_int_equal(access(path, F_OK), -1);
}

/* Whatever the range, an axis has tics enough to be read, and no crowd of them. */
static void test_tics(void **state) {
  struct fixture *f = *state;
  for (double factor = 1.0005; factor < 1e12; factor *= 1.7) {
    cJSON_DeleteItemFromObject(f->document, "cases");
    f->cases = cJSON_AddArrayToObject(f->document, "cases");
    add_case(f, "w", "default", 1, 1.37);
    add_case(f, "w", "default", 8, 1.37 * factor);
    setenv("PATH", "/nonexistent", 1); /* the script is enough */
    const struct tb_plot_options options = {.kinds = 1u << TB_PLOT_SPEEDUP};
    const bool written = tb_plot_result(f->document, f->stem, &options, &f->plot);
    setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
    assert_true(written);
    char *script = read_text(f->plot.script), *at = strstr(script, "set ytics ("), *end = strchr(at, '\n');
    *end = '\0';
    const int tics = 1 + count_text(at, ", ");
    if (tics < 3 || tics > 12) fail_msg("%d tics for a factor of %g: %s", tics, factor, at);
    double lo, hi, before, gap = 0;
    assert_int_equal(sscanf(strstr(script, "set yrange ["), "set yrange [%lf:%lf]", &lo, &hi), 2);
    before = lo;
    for (char *tic = strstr(at, "' "); tic; tic = strstr(tic + 1, "' ")) {
      const double value = strtod(tic + 1, NULL);
      gap = fmax(gap, log(value / before));
      before = value;
    }
    gap = fmax(gap, log(hi / before));
    if (gap > 0.45 * log(hi / lo)) fail_msg("no tic on %.0f%% of the axis for a factor of %g: %s", 100 * gap / log(hi / lo), factor, at);
    free(script);
  }
}

static void test_nothing(void **state) {
  struct fixture *f = *state;
  draw(f, 0, 0, NULL);
  assert_false(f->plot.drawn);
  assert_non_null(strstr(f->plot.message, "nothing to draw"));
  assert_int_equal(access(f->plot.script, F_OK), -1);
  add_case(f, "w", "default", 8, 2);
  draw(f, 1u << TB_PLOT_SPEEDUP | 1u << TB_PLOT_ABLATION | 1u << TB_PLOT_HISTORY, 0, NULL);
  assert_non_null(strstr(f->plot.message, "nothing to draw for kind=ablation"));
  assert_non_null(strstr(f->plot.message, "nothing to draw for kind=history"));
  assert_null(strstr(f->plot.message, "kind=speedup"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_speedup), TEST(test_missing),      TEST(test_rows),     TEST(test_many),    TEST(test_compile),      TEST(test_roofline), TEST(test_not_right), TEST(test_compile_legend), TEST(test_history),
                                     TEST(test_history_many), TEST(test_ablation), TEST(test_formats), TEST(test_script_alone), TEST(test_hostile),  TEST(test_hostile_files), TEST(test_tics),    TEST(test_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
