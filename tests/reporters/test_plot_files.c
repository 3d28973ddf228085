/* The files of pictures: which ones are written, scripts that draw by themselves with axes that can be read,
 * and texts and names of files that mean something to a shell, a script or a picture, which nothing obeys. */
#include "tests/reporters/plotted.h"

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
  snprintf(command, sizeof command,
           "cd '%s' && mv p.svg first.svg && env -u DISPLAY gnuplot p.gp && cmp -s p.svg first.svg",
           f->folder);
  assert_int_equal(system(command), 0);
}

/* Names stay names: nothing is run, no format is taken, the picture is well-formed. */
static void test_hostile(void **state) {
  struct fixture *f = *state;
  static const char *const names[] = {"it's {odd} }",
                                      "%d %s 100%",
                                      "quote\" back\\slash",
                                      "<b>&amp;</b> `touch ran`",
                                      "'; system('touch ran'); '",
                                      "x\ny\tz",
                                      "\xff\xc3(\xed\xa0\x80",
                                      "漢字 \xe2\x80\xae",
                                      "# hash",
                                      "a]]>b",
                                      "c]]\x01>d",
                                      ("a very long name that goes on and on and on, for no reason at all, "
                                       "until nobody reads it any longer, and then further")};
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
  const struct tb_plot_history history = {
      .runs = runs, .series = series, .n_runs = 3, .n_series = NAMES, .confidence = 0.95};
  draw(f, 1u << TB_PLOT_SPEEDUP | 1u << TB_PLOT_COMPILE | 1u << TB_PLOT_ROOFLINE | 1u << TB_PLOT_HISTORY, 0,
       &history);
  char path[96];
  snprintf(path, sizeof path, "%s/ran", f->folder);
  assert_int_equal(access(path, F_OK), -1);
  if (!f->plot.drawn) return;
  char *svg = read_text(f->plot.picture[TB_PLOT_SVG]);
  assert_null(strstr(svg, "<b>"));
  assert_non_null(strstr(svg, "it’s {odd} }"));
  assert_non_null(strstr(svg, "%d %s 100%"));
  for (const unsigned char *at = (const unsigned char *)svg; *at; at++)
    assert_true(*at >= ' ' || *at == '\n' || *at == '\t');
  assert_null(strstr(svg, "\xff"));
  assert_null(strstr(svg, "]]>")); /* no XML has it in a text */
  assert_non_null(strstr(svg, "a]]›b"));
  assert_non_null(strstr(svg, "c]]›d"));
  free(svg);
}

/* Names of files are taken byte for byte: nothing is run, nothing is written elsewhere. */
static void test_hostile_files(void **state) {
  struct fixture *f = *state;
  static const char *const names[] = {"'quote",      "|touch ran", "<touch ran",
                                      "`touch ran`", "line\nend",  "back\\slash\"%s{}$x",
                                      "-e",          "漢字",       "~"};
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
    if (gap > 0.45 * log(hi / lo))
      fail_msg("no tic on %.0f%% of the axis for a factor of %g: %s", 100 * gap / log(hi / lo), factor, at);
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

int main(void) {
  const struct CMUnitTest tests[] = {TEST(test_formats),       TEST(test_script_alone), TEST(test_hostile),
                                     TEST(test_hostile_files), TEST(test_tics),         TEST(test_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
