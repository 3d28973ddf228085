/* What is told of a case: figures where it is right alone, and which run it is of. */
#include "tests/reporters/reported.h"

/* Each row tells which run it is of. */
static void test_csv_runs(void **state) {
  (void)state;
#define RUN(day, commit, host)                                                                               \
  "{\"started\":\"2026-01-0" day "T00:00:00Z\",\"tbench\":{\"commit\":\"" commit                             \
  "\"},\"environments\":[{\"host\":\"" host "\"}],\"cases\":[{\"id\":\"a\",\"env\":0,\"outcome\":\"ok\"}]}"
  static const char *const paths[] = {"one.json", "two, too.json"};
  char *out = report("csv", "[" RUN("1", "c1", "h1") "," RUN("2", "c2-dirty", "h2") "]",
                     &(struct tb_report_options){.paths = paths});
  assert_non_null(strstr(out, ",started,commit,host,file\r\n"));
  assert_non_null(strstr(out, ",2026-01-01T00:00:00Z,c1,h1,one.json\r\n"));
  assert_non_null(strstr(out, ",2026-01-02T00:00:00Z,c2-dirty,h2,\"two, too.json\"\r\n"));
  free(out);
  out = report("csv", RUN("1", "c1", "h1"), &(struct tb_report_options){.result_path = "r.json"});
  assert_non_null(strstr(out, ",c1,h1,r.json\r\n"));
  free(out);
}

/* --- what is not right --- */

/* Every figure has these digits. */
#define TIME "{\"median\":7777e6,\"samples\":[7777e6]}"
#define CALLS                                                                                                \
  "{\"median_ns\":7777e6,\"p05_ns\":7777e6,\"p95_ns\":7777e6,\"replicates\":[{\"median_ns\":7777e6}]}"
#define ENDED(outcome)                                                                                       \
  "{\"id\":\"s/w\",\"env\":0,\"outcome\":\"" outcome                                                         \
  "\",\"error\":\"it failed\",\"case\":{\"workload\":\"w\",\"backend\":\"inductor\",\"mode\":\"default\","   \
  "\"batch\":8},\"baseline\":" CALLS ",\"steady\":" CALLS ",\"probe\":" CALLS                                \
  ",\"speedup\":{\"ratio\":7777,\"lo\":7777,\"hi\":7777,\"noise_floor\":77.77,\"interval_over\":\"blocks\"}" \
  ","                                                                                                        \
  "\"compile\":{\"cold_ns\":" TIME ",\"disk_ns\":" TIME ",\"memory_ns\":" TIME ",\"first_call_ns\":" TIME    \
  ",\"library_ns\":" TIME ",\"start_ns\":" TIME ",\"pays_off_after_calls\":7777,"                            \
  "\"stages_ns\":{\"capture\":7777e6}},\"graph\":{\"kernels\":7777,\"library_calls\":7777,\"bytes_moved\":"  \
  "7777,\"flops\":7777},\"counters\":{\"x\":{\"value\":7777}},"                                              \
  "\"instructions\":{\"steady\":7777e6,\"cold\":{\"total\":7777e6}},\"work\":{\"bytes\":7777,\"bytes_per_"   \
  "s\":7777e9,\"flops_per_s\":7777e9},\"correctness\":{\"max_error\":0.5,\"bound\":0.25}}"
#define OF(cases)                                                                                            \
  "{\"started\":\"2026-01-02T03:04:05Z\",\"finished\":\"2026-01-02T03:04:06Z\",\"environments\":[{\"host\":" \
  "\"h\"}],\"cases\":[" cases "]}"

static bool tells_figures(const char *text) {
  return strstr(text, "7777") || strstr(text, "7.77") || strstr(text, "over the blocks");
}

/* A case that is not right keeps its row with its outcome, and no format tells a figure of it. */
static void test_not_right(void **state) {
  (void)state;
  static const struct {
    const char *outcome, *text;
  } rows[] = {{"wrong", OF(ENDED("wrong"))},
              {"crashed", OF(ENDED("crashed"))},
              {"unsupported", OF(ENDED("unsupported"))},
              {"?", OF(ENDED("?"))}};
  static const struct tb_report_options all = {.verbose = true};
  static const char *const tables[] = {"console", "csv", "markdown", "html"}, *const others[] = {
                                                                                  "json", "ablation",
                                                                                  "peers_counts"};
  setenv("CONBENCH_PROJECT_REPOSITORY", "https://github.com/org/repo", 1);
  for (int r = 0; r < tb_reporter_count(); r++) {
    const struct tb_reporter *reporter = tb_reporter_at(r);
    bool table = false, other = false;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) table |= !strcmp(reporter->name, tables[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) other |= !strcmp(reporter->name, others[i]);
    char *right = report(reporter->name, OF(ENDED("ok")), &all);
    if (!other && !tells_figures(right)) fail_msg("%s: %s", reporter->name, right);
    free(right);
    for (size_t i = 0; strcmp(reporter->name, "json") && i < sizeof rows / sizeof *rows; i++) {
      char *out = report(reporter->name, rows[i].text, &all);
      if (tells_figures(out)) fail_msg("%s of %s: %s", reporter->name, rows[i].outcome, out);
      if (table && !strstr(out, rows[i].outcome))
        fail_msg("%s has no row of what is %s: %s", reporter->name, rows[i].outcome, out);
      free(out);
    }
  }
  char *out = report("csv", OF(ENDED("wrong")), &all);
  assert_non_null(strstr(out, ",0.5,0.25,")); /* how far off it was */
  free(out);
  out = report("html", OF(ENDED("wrong") "," ENDED("ok")), &all);
  assert_non_null(strstr(out, "as fast. 1 case is not drawn: 1 wrong.</figcaption>"));
  free(out);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_csv_runs), cmocka_unit_test(test_not_right)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
