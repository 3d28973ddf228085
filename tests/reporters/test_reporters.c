/* Reporters on a stored document: figures land in their cells, odd text stays quoted, missing fields are no
 * crash. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reporters/gnuplot/plot.h"
#include "tests/reporters/reported.h"

static const char document[] =
    "{\"schema\":1,\"started\":\"2026-01-02T03:04:05Z\",\"cases\":["
    "{\"id\":\"s/w/inductor/default/cpu/f32/b64/machine/"
    "t2\",\"case\":{\"suite\":\"s\",\"workload\":\"w\",\"backend\":\"inductor\",\"mode\":\"default\","
    "\"device\":\"cpu\",\"dtype\":\"f32\",\"batch\":64,\"params\":{},\"topology\":\"machine\",\"threads\":2,"
    "\"switches\":{}},\"outcome\":\"ok\",\"error\":null,"
    "\"baseline\":{\"median_ns\":2000000},\"steady\":{\"median_ns\":1000000},\"speedup\":{\"ratio\":2.0,"
    "\"lo\":1.9,\"hi\":2.1},"
    "\"compile\":{\"cold_ns\":{\"median\":9000000},\"disk_ns\":{\"median\":500000},\"pays_off_after_calls\":"
    "9},"
    "\"graph\":{\"kernels\":3,\"library_calls\":4,\"fallbacks\":[]},\"correctness\":{\"ok\":true}},"
    "{\"id\":\"s/w/inductor/default/cpu/f32/b8/machine/"
    "t2\",\"case\":{\"suite\":\"s\",\"workload\":\"w\",\"backend\":\"inductor\",\"mode\":\"default\","
    "\"device\":\"cpu\",\"dtype\":\"f32\",\"batch\":8,\"params\":{},\"topology\":\"machine\",\"threads\":2,"
    "\"switches\":{}},\"outcome\":\"crashed\","
    "\"error\":\"it said \\\"no\\\", twice\",\"speedup\":null,\"correctness\":null}]}";

static const struct tb_report_options written = {.result_path = "r.json"};

static void test_console(void **state) {
  (void)state;
  char *out = report("console", document, &written);
  assert_non_null(strstr(out, "w · f32 · cpu, 2 threads on machine"));
  assert_non_null(strstr(out, "2.00 [1.90, 2.10]"));
  assert_non_null(strstr(out, "3+4"));
  assert_non_null(strstr(out, "it said \"no\", twice"));
  assert_non_null(strstr(out, "1 of 2 right (against f64), 1 not compared · r.json"));
  assert_true(strstr(out, "    8  ") < strstr(out, "   64  ")); /* by batch, not by order of measurement */
  assert_null(strstr(out, "\033"));
  free(out);
}

/* Columns that are asked for: other compile states, and how fast the work was done. */
static void test_verbose(void **state) {
  (void)state;
  static const char text[] =
      "{\"schema\":1,\"cases\":[{\"id\":\"a\",\"outcome\":\"ok\",\"case\":{\"workload\":\"w\"},\"compile\":{"
      "\"cold_ns\":{\"median\":9e6},"
      "\"first_call_ns\":{\"median\":44e6},\"library_ns\":{\"median\":33e6},\"memory_ns\":{\"median\":1.5e6}}"
      ","
      "\"work\":{\"bytes\":100,\"bytes_per_s\":12.34e9,\"flops\":null,\"flops_per_s\":null}}]}";
  char *out[2];
  for (int verbose = 0; verbose < 2; verbose++)
    out[verbose] = report("console", text, &(struct tb_report_options){.verbose = verbose});
  static const char *const more[] = {"first call", "44.0",   "library", "33.0",     "memory",
                                     "1.50",       "(GB/s)", "12.3",    "(GFLOP/s)"};
  for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
    assert_non_null(strstr(out[1], more[i]));
    assert_null(strstr(out[0], more[i]));
  }
  free(out[0]);
  free(out[1]);
}

/* A result of a run that was killed has a null there, and fewer cases than were planned. */
static void test_unfinished(void **state) {
  (void)state;
  char *out =
      report("console", "{\"schema\":1,\"finished\":null,\"planned\":3,\"interrupted\":false,\"cases\":[]}",
             &written);
  assert_non_null(strstr(out, "the run did not end"));
  assert_non_null(strstr(out, "0 of 3 right"));
  assert_non_null(strstr(out, "3 not measured (the run did not end)"));
  free(out);
  out = report("console", "{\"schema\":1,\"finished\":\"2026-01-02T03:04:05Z\",\"planned\":0,\"cases\":[]}",
               &written);
  assert_null(strstr(out, "did not end"));
  free(out);
}

/* `document` with other texts in it. */
static char *report_with(const char *name, const char *given, const char *instead) {
  char text[sizeof document + 256];
  const char *at = strstr(document, given);
  assert_non_null(at);
  snprintf(text, sizeof text, "%.*s%s%s", (int)(at - document), document, instead, at + strlen(given));
  return report(name, text, &written);
}

/* What an interval rests on is said where it is the weaker of the two. */
static void test_intervals(void **state) {
  (void)state;
  char *out = report_with("console", "\"ratio\":2.0", "\"ratio\":2.0,\"interval_over\":\"blocks\"");
  assert_non_null(strstr(out, "note: intervals are over the blocks of one pair of processes"));
  free(out);
  out = report_with("console", "\"ratio\":2.0", "\"ratio\":2.0,\"interval_over\":\"replicates\"");
  assert_null(strstr(out, "over the blocks"));
  free(out);
  out = report_with("csv", "\"ratio\":2.0", "\"ratio\":2.0,\"interval_over\":\"blocks\"");
  assert_non_null(strstr(out, "blocks,"));
  free(out);
}

/* A case that Ctrl-C came before has no row, and is counted. */
static void test_interrupted(void **state) {
  (void)state;
  char *out =
      report_with("console", "\"outcome\":\"crashed\",", "\"outcome\":\"error\",\"interrupted\":true,");
  assert_non_null(strstr(out, "1 of 2 right (against f64), 1 not measured"));
  assert_null(strstr(out, "twice"));
  assert_null(strstr(out, "    8  "));
  free(out);
}

/* The pay-off's interval stands beside it; one without an end says so. */
static void test_pay_off_interval(void **state) {
  (void)state;
  static const char given[] = "\"pays_off_after_calls\":9";
  char *out = report_with(
      "console", given,
      "\"pays_off_after_calls\":9,\"pays_off_lo\":7.2,\"pays_off_hi\":12.1,\"pays_off_infinite\":false");
  assert_non_null(strstr(out, "9 calls [8, 13]"));
  free(out);
  out = report_with(
      "console", given,
      "\"pays_off_after_calls\":null,\"pays_off_lo\":7.2,\"pays_off_hi\":null,\"pays_off_infinite\":true");
  assert_non_null(strstr(out, "unsure [8, ∞)"));
  free(out);
  out = report_with(
      "console", given,
      "\"pays_off_after_calls\":9,\"pays_off_lo\":0,\"pays_off_hi\":null,\"pays_off_infinite\":true");
  assert_non_null(strstr(out, "9 calls [0, ∞)"));
  free(out);
}

/* What compiling costs was not measured: after how many calls it pays is not a question; that it never does
 * is known. */
static void test_pay_off_of_nothing(void **state) {
  (void)state;
  static const char given[] =
      "\"cold_ns\":{\"median\":9000000},\"disk_ns\":{\"median\":500000},\"pays_off_after_calls\":9";
  char *out = report_with("console", given, "\"pays_off_after_calls\":null,\"pays_off_infinite\":false");
  assert_null(strstr(out, "unsure"));
  free(out);
  out = report_with(
      "console", given,
      "\"cold_ns\":{\"median\":9000000},\"pays_off_after_calls\":null,\"pays_off_infinite\":true");
  assert_non_null(strstr(out, "unsure"));
  free(out);
}

static void test_one_call(void **state) {
  (void)state;
  char *out = report_with("console", "\"pays_off_after_calls\":9", "\"pays_off_after_calls\":0.5");
  assert_non_null(strstr(out, " 1 call "));
  free(out);
}

static void test_csv(void **state) {
  (void)state;
  char *out = report("csv", document, &written);
  assert_non_null(strstr(
      out, "\r\ns/w/inductor/default/cpu/f32/b64/machine/"
           "t2,s,w,inductor,default,cpu,f32,64,machine,2,ok,2000000,1000000,2,1.9,2.1,9000000,500000,"));
  assert_non_null(strstr(out, "\"it said \"\"no\"\", twice\""));
  free(out);
}

/* What a format cannot do without is said, and nothing is written. */
static void report_or_lack(const struct tb_reporter *reporter, const char *text) {
  char failure[TB_REPORT_FAILURE] = "", *out = NULL, *comparison = NULL;
  cJSON *doc = cJSON_Parse(text);
  const struct tb_report_options options = {.result_path = "r.json", .failure = failure};
  if (!report_document(reporter->write, doc, &options, &out)) assert_true(*failure && !*out);
  if (reporter->write_comparison)
    assert_true(report_document(reporter->write_comparison, doc, &options, &comparison));
  cJSON_Delete(doc);
  free(out);
  free(comparison);
}

static void test_missing_fields(void **state) {
  (void)state;
  static const char *const documents[] = {"{}", "{\"cases\":[]}", "{\"cases\":[{}]}",
                                          "{\"cases\":[{\"case\":7},3,null]}", "[]"};
  for (size_t i = 0; i < sizeof documents / sizeof *documents; i++)
    for (int r = 0; r < tb_reporter_count(); r++) report_or_lack(tb_reporter_at(r), documents[i]);
}

static void test_plot(void **state) {
  (void)state;
  char folder[] = "/tmp/tbench-plot-XXXXXX", stem[64], command[96];
  assert_non_null(mkdtemp(folder));
  snprintf(stem, sizeof stem, "%s/it's $(odd)", folder);
  cJSON *doc = cJSON_Parse(document);
  struct tb_plot plot;
  assert_true(tb_plot_result(doc, stem, &(struct tb_plot_options){0}, &plot));
  struct stat info;
  assert_int_equal(stat(plot.data, &info), 0);
  assert_int_equal(stat(plot.script, &info), 0);
  if (plot.drawn) {
    assert_int_equal(stat(plot.picture[TB_PLOT_SVG], &info), 0);
    assert_true(info.st_size > 1000);
  } else {
    assert_non_null(strstr(plot.message, "gnuplot"));
  }
  const char *path = getenv("PATH");
  char *saved = strdup(path ? path : "");
  setenv("PATH", "/nonexistent", 1);
  unlink(plot.picture[TB_PLOT_SVG]);
  assert_true(tb_plot_result(doc, stem, &(struct tb_plot_options){0}, &plot));
  assert_false(plot.drawn);
  assert_non_null(strstr(plot.message, "gnuplot-nox"));
  setenv("PATH", saved, 1);
  free(saved);
  assert_false(tb_plot_result(doc, "/nonexistent/x", &(struct tb_plot_options){0}, &plot));
  cJSON_Delete(doc);
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  assert_int_equal(system(command), 0);
}

static void test_format(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *text;
  } rows[] = {{1.234, "1.23"}, {9.996, "10.0"}, {99.96, "100"}, {12345, "12345"}, {0, "0.00"}};
  char text[32];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tb_format3(rows[i].value, text, sizeof text);
    assert_string_equal(text, rows[i].text);
  }
}

/* Intervals of cases that ended early are not those of the column's head: that is told. */
static void test_comparison_level(void **state) {
  (void)state;
  static const struct {
    const char *level, *told;
  } rows[] = {
      {"0.95", NULL}, {"null", NULL}, {"0.9875", "at up to 98.75%, so that 95% hold whenever one ends\n"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[128], *out = NULL;
    snprintf(text, sizeof text, "{\"cases\":[{\"id\":\"a\",\"time\":{\"confidence\":%s}},{\"id\":\"b\"}]}",
             rows[i].level);
    cJSON *doc = cJSON_Parse(text);
    assert_true(report_document(tb_report_comparison, doc, &(struct tb_report_options){0}, &out));
    cJSON_Delete(doc);
    assert_int_equal(strstr(out, "ended early") != NULL, rows[i].told != NULL);
    if (rows[i].told) assert_non_null(strstr(out, rows[i].told));
    free(out);
  }
}

/* --- ablation --- */

#define ABLATION_CASE(workload, switches, breaks, cold, first, starts, artifact, counted)                    \
  "{\"id\":\"" workload "\",\"case\":{\"suite\":\"o\",\"workload\":\"" workload                              \
  "\",\"dtype\":\"f32\",\"device\":\"cpu\",\"threads\":2,\"topology\":\"machine\","                          \
  "\"params\":{\"p\":1},\"switches\":{" switches                                                             \
  "}},\"outcome\":\"ok\",\"compile\":{\"cold_ns\":{\"median\":2e6,\"samples\":" cold "},\"first_call_ns\":"  \
  "{\"median\":5e6,\"samples\":" first "},\"start_ns\":{\"samples\":" starts                                 \
  "}},\"graph\":{\"artifact\":\"" artifact "\",\"breaks\":" breaks "},"                                      \
  "\"instructions\":{\"cold\":{\"total\":" counted "}}}"
#define OFF(name) "\"opt." name "\":\"off\""

/* clang-format off */
static const char ablation[] = "{\"cases\":["
    ABLATION_CASE("m", "", "[]", "[100,200]", "[1,1]", "[10,99,20,99]", "a", "1000") ","
    ABLATION_CASE("m", OFF("key_cache"), "[]", "[121,242]", "[1,1]", "[20,99,40,99]", "a", "1100") ","
    ABLATION_CASE("m", OFF("key_cache") "," OFF("lazy_dump"), "[]", "[200,100]", "[1,1]", "[10,99,20,99]",
                  "b", "2000") ","
    ABLATION_CASE("w", "\"tile\":\"off\"", "[7]", "[1,1]", "[300,300]", "[1]", "c", "null") ","
    ABLATION_CASE("w", "\"tile\":\"off\"," OFF("key_cache"), "[7]", "[1,1]", "[300,300]", "[1]", "c",
                  "null") ","
    ABLATION_CASE("w", "\"tile\":\"off\"," OFF("inplace_dce"), "[7]", "[1,1]", "[300,300,999]", "[1]", "c",
                  "null") ","
    ABLATION_CASE("lonely", OFF("key_cache"), "[]", "[1,1]", "[1,1]", "[1,1]", "d", "1") "]}";
/* clang-format on */

static char *report_ablation(const char *name) {
  return report(name, ablation, &(struct tb_report_options){0});
}

/* Pairs of one replicate of cases that differ in switches of compile time alone; those that are no pairs are
 * not told as ones. */
static void test_ablation(void **state) {
  (void)state;
  char *out = report_ablation("ablation");
  assert_non_null(strstr(out, "m · f32 · cpu, 2 threads on machine"));
  assert_non_null(strstr(out, "\nkey_cache                        1.210 [1.210, 1.210]   1.282 [1.282, "
                              "1.282]        1.1000          2.00  equal\n"));
  /* exp(12.706 log 2): t of one degree */
  assert_non_null(strstr(out, "\nkey_cache, lazy_dump            1.000 [0.000, 6682.651]"));
  assert_non_null(strstr(out, "DIFFERS\n"));
  assert_non_null(strstr(out, "w · f32 · cpu, 2 threads on machine · p=1 · tile=off"));
  assert_non_null(strstr(out, "\nkey_cache                        1.000 [1.000, 1.000]                      "
                              "–             –          5.00  equal\n")); /* the whole first call */
  assert_non_null(
      strstr(out, "\ninplace_dce                      1.000 [1.000, 1.000]")); /* it ended later: the first
                                                                                  two replicates are pairs */
  assert_non_null(strstr(out, "over 2 models (geometric mean)"));
  assert_non_null(strstr(out, "\nkey_cache                        1.100 [1.100, 1.100]"));
  assert_null(strstr(out, "lonely"));
  free(out);
  out = report("ablation", document, &written);
  assert_non_null(strstr(out, "no case of this result"));
  free(out);
}

/* All on, measured again: a row of its own, and the others are over both; without samples of its own it is
 * not counted. */
static void test_ablation_again(void **state) {
  (void)state;
  for (int failed = 0; failed < 2; failed++) {
    cJSON *doc = cJSON_Parse(ablation), *cases = cJSON_GetObjectItem(doc, "cases"),
          *again = cJSON_Duplicate(cJSON_GetArrayItem(cases, 0), true);
    cJSON *cold = cJSON_GetObjectItem(cJSON_GetObjectItem(again, "compile"), "cold_ns");
    char *out = NULL;
    cJSON_AddNumberToObject(cJSON_GetObjectItem(cJSON_GetObjectItem(again, "case"), "params"), "again", 1);
    cJSON_ReplaceItemInObject(cold, "samples", cJSON_Parse(failed ? "[]" : "[144,288]"));
    assert_true(cJSON_AddItemToArray(cases, again));
    assert_true(report_document(tb_report_ablation, doc, &(struct tb_report_options){0}, &out));
    cJSON_Delete(doc);
    assert_non_null(strstr(out, "m · f32 · cpu, 2 threads on machine · p=1: 2.00 ms cold with all on\n"));
    assert_int_equal(strstr(out, "\non / on                          1.440 [1.440, 1.440]") != NULL, !failed);
    assert_int_equal(strstr(out, "\nkey_cache                        1.008 [1.008, 1.008]") != NULL,
                     !failed); /* 121 / √(100 · 144) */
    assert_int_equal(strstr(out, "\nkey_cache                        1.210 [1.210, 1.210]") != NULL, failed);
    assert_non_null(strstr(out, "\non / on: "));
    assert_non_null(strstr(out, "each interval is for itself: of the 9 of a column"));
    free(out);
  }
}

/* A case that has not a sample for each replicate: which is whose is not known. */
static void test_ablation_failed(void **state) {
  enum { INPLACE_DCE = 5 };
  (void)state;
  cJSON *doc = cJSON_Parse(ablation), *c = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "cases"), INPLACE_DCE);
  char *out = NULL;
  cJSON_AddItemToObject(c, "steady", cJSON_Parse("{\"replicates\":[{},{},{},{}]}"));
  assert_true(report_document(tb_report_ablation, doc, &(struct tb_report_options){0}, &out));
  cJSON_Delete(doc);
  assert_non_null(strstr(out, "\ninplace_dce                                         –                      "
                              "–             –          5.00  equal\n"));
  free(out);
}

/* A pair of which one is not right is none. */
static void test_ablation_not_right(void **state) {
  (void)state;
  for (int wrong = 0; wrong < 2; wrong++) {
    cJSON *doc = cJSON_Parse(ablation), *cases = cJSON_GetObjectItem(doc, "cases");
    char *out = NULL;
    cJSON_ReplaceItemInObject(cJSON_GetArrayItem(cases, wrong), "outcome", cJSON_CreateString("wrong"));
    assert_true(report_document(tb_report_ablation, doc, &(struct tb_report_options){0}, &out));
    cJSON_Delete(doc);
    assert_null(strstr(out, "1.210"));
    assert_int_equal(strstr(out, "\nkey_cache, lazy_dump ") != NULL,
                     wrong == 1); /* all pairs of the case that is wrong, or this one */
    assert_non_null(strstr(out, "\n1 case is not right, and without a row here: 1 wrong\n"));
    free(out);
  }
}

/* The table for people has the cases with all techniques on, and those without a partner; the ablation stands
 * below. */
static void test_console_ablation(void **state) {
  (void)state;
  char *out = report_ablation("console");
  assert_non_null(strstr(out, "lonely · f32 · cpu, 2 threads on machine · p=1 · opt.key_cache=off"));
  assert_null(strstr(out, "m · f32 · cpu, 2 threads on machine · p=1 · opt.key_cache=off"));
  assert_non_null(strstr(out, "\nkey_cache, lazy_dump "));
  free(out);
}

static void test_plot_ablation(void **state) {
  (void)state;
  char folder[] = "/tmp/tbench-plot-XXXXXX", stem[64], command[96], line[256];
  struct tb_plot plot;
  assert_non_null(mkdtemp(folder));
  snprintf(stem, sizeof stem, "%s/o", folder);
  cJSON *doc = cJSON_Parse(ablation);
  assert_true(tb_plot_result(doc, stem, &(struct tb_plot_options){0}, &plot));
  if (!plot.drawn) assert_non_null(strstr(plot.message, "gnuplot"));
  FILE *data = fopen(plot.data, "r");
  assert_non_null(data);
  int bars = 0;
  while (fgets(line, sizeof line, data)) {
    double place, ratio, low, high;
    if (sscanf(line, "%lf %lf %lf %lf", &place, &ratio, &low, &high) != 4) continue;
    assert_true(low <= ratio && ratio <= high);
    bars++;
  }
  fclose(data);
  assert_int_equal(bars, 7); /* two of m, two of w, three over both */
  cJSON_Delete(doc);
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  assert_int_equal(system(command), 0);
}

/* A document may hold any number, or none. */
static void test_environment(void **state) {
  (void)state;
  static const struct {
    const char *env;
    int number;
  } rows[] = {{"", -1},
              {"\"env\":0", 0},
              {"\"env\":1", 1},
              {"\"env\":2", 2},
              {"\"env\":-1", -1},
              {"\"env\":0.5", -1},
              {"\"env\":1e300", -1},
              {"\"env\":-1e300", -1},
              {"\"env\":3e9", -1},
              {"\"env\":null", -1},
              {"\"env\":\"0\"", -1}};
  cJSON *result = cJSON_Parse("{\"environments\":[{\"host\":\"a\"},{\"host\":\"b\"}]}");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[64];
    snprintf(text, sizeof text, "{%s}", rows[i].env);
    cJSON *one = cJSON_Parse(text);
    assert_int_equal(tb_case_environment_number(one), rows[i].number);
    const char *host = tb_doc_text(tb_case_environment(result, one), "host", "none");
    assert_string_equal(host, rows[i].number == 0 ? "a" : rows[i].number == 1 ? "b" : "none");
    cJSON_Delete(one);
  }
  assert_ptr_equal(tb_case_environment(result, NULL),
                   cJSON_GetArrayItem(tb_doc_at(result, "environments"), 0));
  cJSON_Delete(result);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_console),
                                     cmocka_unit_test(test_verbose),
                                     cmocka_unit_test(test_unfinished),
                                     cmocka_unit_test(test_csv),
                                     cmocka_unit_test(test_missing_fields),
                                     cmocka_unit_test(test_plot),
                                     cmocka_unit_test(test_format),
                                     cmocka_unit_test(test_intervals),
                                     cmocka_unit_test(test_interrupted),
                                     cmocka_unit_test(test_one_call),
                                     cmocka_unit_test(test_pay_off_interval),
                                     cmocka_unit_test(test_pay_off_of_nothing),
                                     cmocka_unit_test(test_comparison_level),
                                     cmocka_unit_test(test_ablation),
                                     cmocka_unit_test(test_ablation_again),
                                     cmocka_unit_test(test_ablation_failed),
                                     cmocka_unit_test(test_ablation_not_right),
                                     cmocka_unit_test(test_console_ablation),
                                     cmocka_unit_test(test_plot_ablation),
                                     cmocka_unit_test(test_environment)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
