/* Pictures: every figure of the document lies in the data file where its header says, and the script draws it
 * there; what is missing, not right or too much is no wrong point. */
#include "tests/reporters/plotted.h"

/* --- speedup --- */

/* Centres of the first `count` blue circles of the picture. */
static void read_circles(const struct fixture *f, double x[], double y[], int count) {
  char *text = read_text(f->plot.picture[TB_PLOT_SVG]), *at = text;
  for (int i = 0; i < count; i++) {
    do {
      at = strstr(at + 1, "<use xlink:href='#gpPt6' transform='translate(");
      assert_non_null(at);
    } while (!strstr(at, "color='rgb(  0, 114, 178)'") ||
             strstr(at, "color='rgb(  0, 114, 178)'") > strchr(at, '\n'));
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
  assert_true(x[0] < x[1] && x[1] < x[2] &&
              fabs(x[2] - 2 * x[1] + x[0]) <
                  0.05); /* both axes are logarithmic: equal factors, equal distances */
  assert_true(y[0] > y[1] && y[1] > y[2] && fabs(y[2] - 2 * y[1] + y[0]) < 0.05);
}

/* One replicate has no interval: a point without a bar; values that are none are left out. */
static void test_missing(void **state) {
  struct fixture *f = *state;
  cJSON *one = add_case(f, "w", "default", 1, 2), *none = add_case(f, "w", "default", 2, 2),
        *last = add_case(f, "w", "default", 4, 3), *odd = add_case(f, "w", "default", 8, 3);
  cJSON_ReplaceItemInObject(cJSON_GetObjectItem(one, "speedup"), "lo", cJSON_CreateNull());
  cJSON_ReplaceItemInObject(cJSON_GetObjectItem(one, "speedup"), "hi", cJSON_CreateNull());
  cJSON_ReplaceItemInObject(none, "speedup", cJSON_CreateNull());
  cJSON_ReplaceItemInObject(none, "graph", cJSON_CreateNull());
  cJSON_ReplaceItemInObject(none, "compile", cJSON_CreateNull());
  cJSON_ReplaceItemInObject(last, "compile",
                            cJSON_Parse("{\"cold_ns\":null,\"disk_ns\":{\"median\":2e6,\"samples\":[]}}"));
  cJSON_ReplaceItemInObject(odd, "speedup", cJSON_Parse("{\"ratio\":1e999}"));
  cJSON_ReplaceItemInObject(odd, "steady", cJSON_Parse("{\"median_ns\":0}"));
  draw(f, 0, 0, NULL);
  const struct block b = read_block(f, ", default");
  assert_int_equal(b.n_lines, 2);
  assert_true(isnan(b.figures[0][2]) && isnan(b.figures[0][3]) && b.figures[1][2] == 3 * 0.9);
  const struct block bars = read_block(f, "time to the first kernel");
  assert_int_equal(bars.n_lines, 3);
  assert_true(isnan(bars.figures[1][1]) && bars.figures[1][4] == 2 && isnan(bars.figures[1][5]) &&
              isnan(bars.figures[1][7]));
}

/* Cases at one batch, or without one, are rows, not curves of one point. */
static void test_rows(void **state) {
  struct fixture *f = *state;
  add_case(f, "a", "default", 8, 2);
  add_case(f, "b", "default", 0, 0.5);
  draw(f, 1u << TB_PLOT_SPEEDUP, 0, NULL);
  const struct block b = read_block(f, "speedup of cases at one batch");
  assert_int_equal(b.n_lines, 2);
  assert_true(b.figures[0][0] == 0 && b.figures[0][1] == 2 && b.figures[1][0] == -1 &&
              b.figures[1][1] == 0.5);
  char *script = read_text(f->plot.script);
  assert_non_null(strstr(script, "'a b8' 0"));
  assert_non_null(strstr(script, "'b' -1"));
  free(script);
}

/* Parameters stand in the labels as what they are. */
static void test_row_params(void **state) {
  struct fixture *f = *state;
  static const char *const params[] = {"{\"f\":true,\"n\":3,\"s\":\"x\",\"z\":null}",
                                       "{\"f\":false,\"n\":0.5,\"s\":\"y\",\"z\":[1]}"};
  for (int i = 0; i < 2; i++)
    cJSON_ReplaceItemInObject(cJSON_GetObjectItem(add_case(f, "a", "default", 8, 2), "case"), "params",
                              cJSON_Parse(params[i]));
  cJSON_ReplaceItemInObject(cJSON_GetObjectItem(cJSON_GetArrayItem(f->cases, 1), "case"), "threads",
                            cJSON_CreateNull());
  draw(f, 1u << TB_PLOT_SPEEDUP, 0, NULL);
  char *script = read_text(f->plot.script);
  assert_non_null(strstr(script, "'a 2 threads f=true n=3 s=x z=? b8' 0"));
  assert_non_null(strstr(script, "'a ? threads f=false n=0.5 s=y z=? b8' -1"));
  assert_null(strstr(script, "nan"));
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

/* Who has nothing but the picture learns from it what it leaves out, once. */
static void test_left_out_in_picture(void **state) {
  struct fixture *f = *state;
  enum { ROWS = 60, HEIGHT = 2000 };
  static const char told[] = "10 of 60 cases at one batch are left out of the speedups";
  for (int i = 0; i < ROWS; i++) {
    char name[16];
    snprintf(name, sizeof name, "w%02d", i);
    add_case(f, name, "default", 8, 1 + i / 100.0);
  }
  cJSON_ReplaceItemInObject(add_case(f, "bad", "default", 8, 2), "outcome", cJSON_CreateString("wrong"));
  draw(f, 1u << TB_PLOT_SPEEDUP, 1u << TB_PLOT_SVG, NULL);
  char *script = read_text(f->plot.script);
  assert_int_equal(count_text(script, told), 1);
  assert_int_equal(count_text(script, "1 case not drawn"), 1);
  assert_non_null(strstr(f->plot.message, "1 case not drawn: 1 wrong; 10 of 60 cases"));
  free(script);
  if (!f->plot.drawn) return;
  char *svg = read_text(f->plot.picture[TB_PLOT_SVG]);
  assert_non_null(strstr(svg, told));
  free(svg);
}

/* --- the time to the first kernel, and rooflines --- */

static void test_compile(void **state) {
  struct fixture *f = *state;
  add_case(f, "w", "default", 8, 2);
  draw(f, 1u << TB_PLOT_COMPILE, 0, NULL);
  const struct block b = read_block(f, "time to the first kernel");
  static const double expected[] = {0, 4, 3, 6, 0.5, NAN, NAN, 0.1, 0.1, 0.1};
  assert_int_equal(b.n_columns, 10);
  for (int i = 0; i < 10; i++)
    assert_true(isnan(expected[i]) ? isnan(b.figures[0][i]) : fabs(b.figures[0][i] - expected[i]) < 1e-12);
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
  assert_true(b.figures[0][0] == 4 && b.figures[0][1] == 8 &&
              fabs(b.figures[0][2] - 0.04) <
                  1e-9); /* 8000 operations, 2000 bytes, 1000 ns: 8 of 200 GFLOP/s */
  assert_int_equal(roof.n_lines, 3);
  assert_true(fabs(roof.figures[0][1] - 50 * roof.figures[0][0]) < 1e-9 && roof.figures[1][0] == 8 &&
              roof.figures[1][1] == 400 && roof.figures[2][1] == 400);
  assert_non_null(strstr(f->plot.message, "2 cases have no roof"));
  char *script = read_text(f->plot.script), *data = read_text(f->plot.data);
  assert_non_null(
      strstr(script, "2 threads on machine, CPUs 0-1; the roofs were measured there with as many threads"));
  assert_null(strstr(data, "other"));
  free(script);
  free(data);
  cJSON_ReplaceItemInObject(cJSON_GetArrayItem(f->environments, 0), "triad_bytes_per_s", cJSON_CreateNull());
  draw(f, 1u << TB_PLOT_ROOFLINE, 0, NULL);
  assert_false(f->plot.drawn);
  assert_non_null(strstr(f->plot.message, "nothing to draw for kind=roofline"));
}

/* Points above the roof: it is in sight all the same. */
static void test_above_roof(void **state) {
  struct fixture *f = *state;
  cJSON *machine = cJSON_GetArrayItem(f->environments, 0);
  cJSON_ReplaceItemInObject(machine, "triad_bytes_per_s", cJSON_CreateNumber(1e6));
  cJSON_ReplaceItemInObject(machine, "fma_flops_per_s", cJSON_CreateNumber(8e6));
  add_case(f, "w", "default", 8, 2);
  draw(f, 1u << TB_PLOT_ROOFLINE, 0, NULL);
  const struct block b = read_block(f, "w · f32"), roof = read_block(f, "roof");
  char *script = read_text(f->plot.script);
  double lo, hi;
  assert_int_equal(sscanf(strstr(script, "set yrange ["), "set yrange [%lf:%lf]", &lo, &hi), 2);
  assert_true(b.figures[0][1] == 8 && b.figures[0][1] < hi);
  assert_true(roof.figures[1][1] == 0.008 && roof.figures[1][1] > lo &&
              roof.figures[2][1] > lo); /* the ridge, and the end to the right */
  free(script);
}

/* Whatever a case measured before it was wrong or failed is in no picture; how many these are, and why, is
 * told. */
static void test_not_right(void **state) {
  struct fixture *f = *state;
  static const struct {
    const char *workload, *outcome;
    int batch;
  } bad[] = {{"w", "wrong", 64}, {"lone", "crashed", 0}, {"w", "unsupported", 16}, {"other", "wrong", 8}};
  add_case(f, "w", "default", 1, 2);
  add_case(f, "w", "default", 8, 2);
  for (int i = 0; i < 4; i++) {
    cJSON *one = add_case(f, bad[i].workload, "default", bad[i].batch, 7);
    cJSON_ReplaceItemInObject(one, "outcome", cJSON_CreateString(bad[i].outcome));
    cJSON_AddStringToObject(cJSON_GetObjectItem(one, "speedup"), "interval_over", "blocks");
    cJSON_ReplaceItemInObject(cJSON_GetObjectItem(one, "case"), "device",
                              cJSON_CreateString(i ? "cpu" : "cuda"));
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
  assert_non_null(strstr(
      f->plot.message,
      "6 cases not drawn: 6 wrong; nothing to draw for kind=speedup: no case that is right has a speedup"));
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

static void test_history(void **state) {
  struct fixture *f = *state;
  static const struct tb_plot_point points[] = {{0, 2000}, {1, 2100}, {2, 3000}}, one[] = {{1, 5}};
  static const struct tb_plot_segment segments[] = {{0, 1, 2050, NAN, NAN}, {2, 3, 3000, 2900, 3100}},
                                      alone[] = {{1, 3, 5, NAN, NAN}};
  static const struct tb_plot_change changes[] = {
      {2, 3000 / 2050.0, 0.005, NULL}, {1, 0.9, 0.005, NULL}, {3, NAN, 0, "new 'compiler' {"}};
  const struct tb_plot_series series[] = {{"s/w/b1", false, points, segments, changes, 3, 2, 3},
                                          {"s/one point", true, one, alone, NULL, 1, 1, 0},
                                          {"s/none", true, NULL, NULL, NULL, 0, 0, 0}};
  const struct tb_plot_history history = {
      .runs = runs, .series = series, .n_runs = 3, .n_series = 3, .confidence = 0.95};
  draw(f, 0, 0, &history);
  const struct block p = read_block(f, "s/w/b1"), s = read_block(f, "its segments"),
                     c = read_block(f, "its changes"), single = read_block(f, "s/one point");
  assert_int_equal(p.n_lines, 3);
  for (int i = 0; i < 3; i++)
    assert_true(p.figures[i][0] == points[i].run && p.figures[i][1] == points[i].value / 1000);
  assert_non_null(strstr(p.columns, "microseconds"));
  assert_true(s.n_lines == 2 && isnan(s.figures[0][3]) && s.figures[1][2] == 3 && s.figures[1][3] == 2.9 &&
              s.figures[1][4] == 3.1 && s.figures[1][1] == 3);
  assert_true(c.n_lines == 3 && c.figures[0][0] == 1.5 && fabs(c.figures[0][1] - 3000 / 2050.0) < 1e-5 &&
              c.figures[0][3] == 1 && c.figures[1][3] == -1 && c.figures[2][3] == 0 &&
              c.figures[2][0] == 2.5);
  assert_true(single.n_lines == 1 && single.figures[0][1] == 5);
  assert_non_null(strstr(single.columns, "times of the probe kernel"));
  char *data = read_text(f->plot.data);
  assert_non_null(strstr(data, "\"+46.3% it's }"));
  assert_non_null(strstr(data, "\"new 'compiler' {\""));
  assert_null(strstr(data, "s/none"));
  free(data);
}

/* Nights without a point are told: the newest, and those between. */
static void test_history_omitted(void **state) {
  struct fixture *f = *state;
  static const struct tb_plot_point points[] = {{0, 2000}, {2, 3000}};
  const struct tb_plot_series series[] = {{"s/w/b1", false, points, NULL, NULL, 2, 0, 0}};
  const struct tb_plot_history history = {.runs = runs,
                                          .series = series,
                                          .n_runs = 3,
                                          .n_series = 1,
                                          .confidence = 0.95,
                                          .omitted = {4, 2, {{"crashed", 3}, {"wrong", 1}}}};
  cJSON_ReplaceItemInObject(add_case(f, "w", "default", 8, 2), "outcome", cJSON_CreateString("wrong"));
  draw(f, 0, 0, &history);
  char *script = read_text(f->plot.script);
  assert_int_equal(count_text(script, "4 measurements of the history not drawn: 3 crashed, 1 wrong"), 1);
  assert_null(strstr(script, "case not drawn"));
  free(script);
  add_case(f, "other", "default", 8, 2);
  draw(f, 1u << TB_PLOT_HISTORY | 1u << TB_PLOT_SPEEDUP, 0, &history);
  script = read_text(f->plot.script);
  assert_int_equal(
      count_text(script,
                 "1 case not drawn: 1 wrong; 4 measurements of the history not drawn: 3 crashed, 1 wrong"),
      1);
  free(script);
}

/* The text of a step stands left of it where it would be cut off at the right: within the page, as is that of
 * one that is far from its end. */
static void test_history_edge(void **state) {
  struct fixture *f = *state;
  enum { RUNS = 40, WIDTH = 960, LETTER = 7 };
  static struct tb_plot_run many[RUNS];
  static struct tb_plot_point points[RUNS];
  static const struct tb_plot_change changes[] = {{8, 1.329, 0.005, NULL}, {RUNS - 2, 2.329, 0.005, NULL}};
  for (int i = 0; i < RUNS; i++) {
    many[i] = (struct tb_plot_run){"2026-01-02T03:04:05Z", "abcdef0123456"};
    points[i] = (struct tb_plot_point){i, i < 8 ? 1000 : i < RUNS - 2 ? 1329 : 3095};
  }
  const struct tb_plot_series series[] = {{"s/w/b1", true, points, NULL, changes, RUNS, 0, 2}};
  const struct tb_plot_history history = {
      .runs = many, .series = series, .n_runs = RUNS, .n_series = 1, .confidence = 0.95};
  draw(f, 1u << TB_PLOT_HISTORY, 1u << TB_PLOT_SVG, &history);
  const struct block c = read_block(f, "its changes");
  assert_true(c.n_lines == 2 && c.figures[0][5] == 1 && c.figures[1][5] == -1);
  if (!f->plot.drawn) return;
  char *svg = read_text(f->plot.picture[TB_PLOT_SVG]);
  static const char anchor[] = "text-anchor=\"";
  const char *text = strstr(svg, "+132.9% abcdef01"), *at = NULL;
  assert_non_null(text);
  for (const char *next = svg; (next = strstr(next, anchor)) && next < text; next++) at = next;
  assert_non_null(at);
  assert_int_equal(strncmp(at + strlen(anchor), "end", 3), 0);
  assert_true(left_of(svg, "+132.9% abcdef01") < WIDTH &&
              left_of(svg, "+32.9% abcdef01") + LETTER * 15 < WIDTH);
  free(svg);
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
  const struct tb_plot_history history = {
      .runs = runs, .series = series, .n_runs = 3, .n_series = SERIES, .confidence = 0.95};
  draw(f, 1u << TB_PLOT_HISTORY, 0, &history);
  char *data = read_text(f->plot.data);
  for (int i = 0; i < SERIES; i++)
    assert_int_equal(strstr(data, names[i]) != NULL, (i * 5) % SERIES >= SERIES - 10);
  assert_non_null(strstr(f->plot.message, "4 of 14 histories are left out"));
  free(data);
}

/* --- ablation --- */

static cJSON *add_off(struct fixture *f, const char *workload, const char *off, const char *samples) {
  cJSON *one = add_case(f, workload, "default", 8, 2);
  if (off)
    cJSON_AddStringToObject(cJSON_GetObjectItem(cJSON_GetObjectItem(one, "case"), "switches"), off, "off");
  cJSON_ReplaceItemInObject(cJSON_GetObjectItem(cJSON_GetObjectItem(one, "compile"), "cold_ns"), "samples",
                            cJSON_Parse(samples));
  return one;
}

/* Of one replicate no interval; of many models one bar, and the models as points. */
static void test_ablation(void **state) {
  struct fixture *f = *state;
  add_off(f, "m", NULL, "[100]");
  add_off(f, "m", "opt.key_cache", "[150]");
  draw(f, 0, 0, NULL);
  const struct block b = read_block(f, "m · f32");
  assert_true(b.n_lines == 1 && fabs(b.figures[0][1] - 1.5) < 1e-12 && isnan(b.figures[0][2]) &&
              isnan(b.figures[0][3]));
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

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(test_speedup),         TEST(test_missing),        TEST(test_rows),
      TEST(test_row_params),      TEST(test_many),           TEST(test_left_out_in_picture),
      TEST(test_compile),         TEST(test_roofline),       TEST(test_above_roof),
      TEST(test_not_right),       TEST(test_compile_legend), TEST(test_history),
      TEST(test_history_omitted), TEST(test_history_edge),   TEST(test_history_many),
      TEST(test_ablation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
