/* What the reporters of formats rest on: escapes on raw bytes, numbers, times, and what is told of a case.
 * Whole reports are read back by tests/cli/reports.sh. */
#include <math.h>

#include "reporters/series.h"
#include "reporters/table.h"
#include "reporters/text_out.h"
#include "results/rfc3339.h"
#include "tests/reporters/reported.h"

#define UNKNOWN "\xEF\xBF\xBD"

static char *escaped(const char *text, tb_escape *escape) {
  char *out = NULL;
  size_t size;
  FILE *stream = open_memstream(&out, &size);
  tb_put_text(stream, text, escape);
  fclose(stream);
  return out;
}

static void test_escapes(void **state) {
  (void)state;
  static const struct {
    tb_escape *escape;
    const char *text, *expected;
  } rows[] = {
      {tb_escape_markup, "a<b> & \"c\" 'd'\n\t\x01",
       "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;\n\t" UNKNOWN},
      {tb_escape_json, "\"\\\n\x1f\x7f/é", "\\\"\\\\\\u000a\\u001f\\u007f/é"},
      {tb_escape_label, "a\"b\\c\nd\te\x02", "a\\\"b\\\\c\\nd\te" UNKNOWN},
      {tb_escape_help, "a\"b\\c\nd", "a\"b\\\\c\\nd"},
      {tb_escape_influx, "a b,c=d\\e\nf\\", "a\\ b\\,c\\=d/e\\ f/"},
      {tb_escape_markdown, "a|b`c*d_e<f>\n[g]@h", "a&#124;b&#96;c&#42;d&#95;e&#60;f&#62; &#91;g&#93;&#64;h"},
      {tb_escape_line, "a\x1b[31m\nb\xC2\x9B", "a [31m b "},
      {tb_escape_name, "opt.key-1_é", "opt_key_1__"},
      /* what is no UTF-8: a lone byte, an overlong form, a surrogate, beyond the last character, and a text
       * that ends too early */
      {tb_escape_markup,
       "\xFF"
       "a",
       UNKNOWN "a"},
      {tb_escape_json, "\xC0\xAF", UNKNOWN UNKNOWN},
      {tb_escape_json, "\xED\xA0\x80", UNKNOWN UNKNOWN UNKNOWN},
      {tb_escape_json, "\xF4\x90\x80\x80", UNKNOWN UNKNOWN UNKNOWN UNKNOWN},
      {tb_escape_json, "\xE2\x82", UNKNOWN UNKNOWN},
      {tb_escape_json, "€🔥", "€🔥"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *out = escaped(rows[i].text, rows[i].escape);
    assert_string_equal(out, rows[i].expected);
    free(out);
  }
}

static void test_numbers(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *text;
  } rows[] = {{0, "0"},
              {0.1, "0.1"},
              {1e9, "1000000000"},
              {2e6 + 0.5, "2000000.5"},
              {1.0 / 3, "0.3333333333333333"},
              {1e300, "1e+300"},
              {-12, "-12"},
              {5e-324, "4.94065645841247e-324"}};
  char text[TB_NUMBER_TEXT];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tb_shortest_text(rows[i].value, text);
    assert_string_equal(text, rows[i].text);
    assert_true(strtod(text, NULL) == rows[i].value);
  }
}

static void test_times(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double seconds;
  } rows[] = {{"1970-01-01T00:00:00Z", 0},
              {"2026-01-02T03:04:05Z", 1767323045},
              {"2024-02-29T23:59:59.5Z", 1709251199.5},
              {"2026-01-02T03:04:05+02:00", 1767315845},
              {"2026-01-02T03:04:05-01:30", 1767328445},
              {"2000-03-01T00:00:00Z", 951868800},
              {"2026-02-29T00:00:00Z", NAN},
              {"2026-04-31T00:00:00Z", NAN},
              {"2100-02-29T00:00:00Z", NAN},
              {"2000-02-29T00:00:00Z", 951782400},
              {"2026-01-02", NAN},
              {"2026-13-02T03:04:05Z", NAN},
              {"2026-01-02T03:04:05", NAN},
              {"2026-01-02T03:04:nanZ", NAN},
              {"", NAN},
              {"yesterday", NAN}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cJSON *document = cJSON_CreateObject();
    cJSON_AddStringToObject(document, "t", rows[i].text);
    const double seconds = tb_doc_time(document, "t");
    if (isnan(rows[i].seconds))
      assert_true(isnan(seconds));
    else
      assert_true(seconds == rows[i].seconds);
    cJSON_Delete(document);
  }
}

/* --- what is told of a case --- */

static const char one_case[] =
    "{\"id\":\"a\",\"env\":0,\"outcome\":\"ok\",\"case\":{\"suite\":\"s\",\"batch\":null,\"threads\":2,"
    "\"side\":\"\",\"params\":{\"a.b\":1,\"a_b\":2,\"on\":true},"
    "\"switches\":{\"opt.x\":\"off\"}},\"steady\":{\"median_ns\":7,\"p05_ns\":6,\"p95_ns\":null,"
    "\"replicates\":[{\"median_ns\":7},{\"median_ns\":8}]},"
    "\"speedup\":{\"ratio\":2,\"lo\":1,\"hi\":3,\"noise_floor\":null},\"compile\":{\"cold_ns\":null,\"stages_"
    "ns\":{\"cut up\":3,\"\":4,\"x\":null}},"
    "\"graph\":{\"breaks\":[{},{}],\"kernels\":1e999},\"counters\":{\"task_ns\":{\"value\":5},\"cycles\":{"
    "\"value\":null}}}";

static void test_series(void **state) {
  (void)state;
  static const struct {
    const char *name;
    enum tb_unit unit;
    double value, lo, hi;
    int samples;
  } expected[] = {{"steady", TB_UNIT_NS, 7, NAN, NAN, 2},
                  {"speedup", TB_UNIT_RATIO, 2, 1, 3, 0},
                  {"breaks", TB_UNIT_NUMBER, 2, NAN, NAN, 0},
                  {"stage_cut_up", TB_UNIT_NS, 3, NAN, NAN, 0},
                  {"event_task", TB_UNIT_NS, 5, NAN, NAN, 0}};
  cJSON *c = cJSON_Parse(one_case);
  size_t n = 0;
  for (struct tb_series s = {.row = 0}; tb_series_next(c, &s); n++) {
    assert_true(n < sizeof expected / sizeof *expected);
    assert_string_equal(s.name, expected[n].name);
    assert_int_equal(s.unit, expected[n].unit);
    assert_true(s.value == expected[n].value);
    assert_int_equal(tb_series_samples(&s), expected[n].samples);
    if (isnan(expected[n].lo))
      assert_true(isnan(s.lo) && isnan(s.hi));
    else
      assert_true(s.lo == expected[n].lo && s.hi == expected[n].hi);
    if (!n) assert_true(tb_series_sample(&s, 1) == 8);
  }
  assert_int_equal(n, sizeof expected / sizeof *expected);
  cJSON_Delete(c);
}

/* No empty values, no two names that become the same. */
static void test_tags(void **state) {
  (void)state;
  static const char *const expected[] = {"id=a",        "host=h",        "suite=s",         "threads=2",
                                         "param_a.b=1", "param_on=true", "switch_opt.x=off"};
  cJSON *result = cJSON_Parse("{\"environments\":[{\"host\":\"h\"}]}"), *c = cJSON_Parse(one_case);
  size_t n = 0;
  for (struct tb_tag tag = {.row = 0}; tb_tag_next(result, c, &tag); n++) {
    char text[64];
    snprintf(text, sizeof text, "%s%s=%s", tag.prefix, tag.name, tag.text);
    assert_true(n < sizeof expected / sizeof *expected);
    assert_string_equal(text, expected[n]);
  }
  assert_int_equal(n, sizeof expected / sizeof *expected);
  cJSON_Delete(result);
  cJSON_Delete(c);
}

/* --- whole reports --- */

static void test_small_reports(void **state) {
  (void)state;
#define RESULT(cases)                                                                                        \
  "{\"started\":\"1970-01-01T00:00:01Z\",\"environments\":[{\"host\":\"h\"}],\"cases\":[" cases "]}"
#define CASE                                                                                                 \
  "{\"id\":\"a "                                                                                             \
  "b\",\"env\":0,\"outcome\":\"ok\",\"case\":{},\"steady\":{\"median_ns\":1500,\"p05_ns\":1000,\"p95_ns\":"  \
  "2000}}"
#define BENCHER_RUN "\"tbench/run\": {\n    \"complete\": {\n      \"value\": 1\n    }\n  }"
#define INFLUX_RUN  "tbench_run,host=h complete=true 1000000000\n"
  static const struct {
    const char *format, *document, *expected;
  } rows[] = {
      {"bencher", RESULT(CASE),
       "{\n  " BENCHER_RUN ",\n  \"a b\": {\n    \"latency\": {\n      \"value\": 1500,\n      "
       "\"lower_value\": 1000,\n      \"upper_value\": 2000\n    }\n  }\n}\n"},
      {"influx", RESULT(CASE),
       INFLUX_RUN
       "tbench,id=a\\ b,host=h "
       "outcome=\"ok\",ok=true,steady_ns=1500,steady_lower_ns=1000,steady_upper_ns=2000 1000000000\n"},
      {"influx", RESULT("{\"id\":\"a\",\"outcome\":\"crashed\"}"),
       INFLUX_RUN "tbench,id=a outcome=\"crashed\",ok=false 1000000000\n"},
      {"influx", RESULT("{\"id\":\"a\",\"outcome\":\"unsupported\"}"), INFLUX_RUN},
      {"influx", "{\"environments\":[{\"host\":\"a b,c\"}],\"cases\":[]}",
       "tbench_run,host=a\\ b\\,c complete=true\n"},
      {"victoriametrics", RESULT("{\"id\":\"a\",\"outcome\":\"wrong\",\"steady\":{\"median_ns\":1}}"),
       "{\"metric\":{\"__name__\":\"tbench_run_complete\",\"host\":\"h\"},\"values\":[1],\"timestamps\":["
       "1000]}\n"
       "{\"metric\":{\"__name__\":\"tbench_case_ok\",\"id\":\"a\"},\"values\":[0],\"timestamps\":[1000]}\n"},
      {"prometheus", RESULT("{\"id\":\"a\\\"b\",\"outcome\":\"wrong\"}"),
       "# HELP tbench_case_ok 1: the case is right; 0: it is wrong, or failed\n# TYPE tbench_case_ok "
       "gauge\ntbench_case_ok{id=\"a\\\"b\"} 0\n"
       "# HELP tbench_run_complete 1: the result is whole; 0: the run was interrupted, did not end, or lacks "
       "planned cases\n# TYPE tbench_run_complete gauge\n"
       "tbench_run_complete{host=\"h\"} 1\n"
       "# HELP tbench_run_started_timestamp_seconds when the run was started\n# TYPE "
       "tbench_run_started_timestamp_seconds gauge\n"
       "tbench_run_started_timestamp_seconds{host=\"h\"} 1\n"},
      {"pytorch", RESULT(""), "[]\n"},
      {"bencher", RESULT(""), "{\n  " BENCHER_RUN "\n}\n"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *out = report(rows[i].format, rows[i].document, NULL);
    assert_string_equal(out, rows[i].expected);
    free(out);
  }
}

/* What a format must have and the document lacks is said, and nothing is written. */
static void test_lacking(void **state) {
  (void)state;
  static const char *const formats[] = {"lnt", "victoriametrics", "conbench"};
  setenv("CONBENCH_PROJECT_REPOSITORY", "https://github.com/org/repo", 1);
  cJSON *document = cJSON_Parse("{\"cases\":[{\"id\":\"a\",\"outcome\":\"ok\"}]}");
  for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
    char failure[TB_REPORT_FAILURE] = "", *out = NULL;
    assert_false(report_document(tb_reporter_find(formats[i])->write, document,
                                 &(struct tb_report_options){.failure = failure}, &out));
    assert_non_null(strstr(failure, "started"));
    assert_string_equal(out, "");
    free(out);
  }
  cJSON_Delete(document);
}

/* --- comparisons --- */

#define PAIR(id, verdict, exit, ratio)                                                                       \
  "{\"id\":\"" id "\",\"presence\":\"both\",\"exit\":" exit ",\"time\":{\"verdict\":\"" verdict              \
  "\",\"ratio\":" ratio ",\"lo\":0.9,\"hi\":3}}"
static const char pairs[] =
    "{\"kind\":\"comparison\",\"verb\":\"gate\",\"exit\":1,\"meaning\":\"a "
    "regression\",\"problems\":[],\"cases\":[" PAIR("same", "SAME", "0", "1.0") "," PAIR(
        "slow", "SLOWER", "1",
        "1.2") "," PAIR("faster", "FASTER", "0",
                        "0.5") "," PAIR("slowest", "SLOWER", "1",
                                        "2.5") "," PAIR("noisy", "UNSURE", "3",
                                                        "1.1") "," PAIR("free", "UNSURE", "0",
                                                                        "9") ",{\"id\":\"dead\",\"presence\":"
                                                                             "\"both\",\"exit\":4,\"time\":"
                                                                             "null},{\"id\":\"young\","
                                                                             "\"presence\":\"new\",\"exit\":"
                                                                             "0,\"time\":null}]}";

static void test_ranking(void **state) {
  (void)state;
  static const char *const order[] = {"dead", "slowest", "slow", "noisy", "young", "faster", "same", "free"};
  cJSON *document = cJSON_Parse(pairs);
  int n, moved = 0;
  struct tb_ranked *ranked = tb_comparison_ranked(document, &n);
  assert_int_equal(n, 8);
  for (int i = 0; i < n; i++) {
    assert_string_equal(tb_doc_text(ranked[i].one, "id", "?"), order[i]);
    moved += tb_comparison_moved(ranked[i].one);
  }
  assert_int_equal(moved, 6);
  free(ranked);
  cJSON_Delete(document);
}

static void test_comparison_reports(void **state) {
  (void)state;
  char *out = report_text(tb_report_comparison_junit, pairs, NULL);
  assert_non_null(
      strstr(out, "<testsuite name=\"gate\" tests=\"8\" failures=\"2\" errors=\"2\" skipped=\"1\">"));
  assert_non_null(strstr(out, "<failure type=\"regression\" message=\"SLOWER 2.500 [0.900, 3.000]\"/>"));
  assert_non_null(strstr(out, "<error type=\"not measurable\" message=\"UNSURE 1.100 [0.900, 3.000]\"/>"));
  assert_non_null(strstr(out, "<skipped message=\"UNSURE 9.000 [0.900, 3.000]\"/>"));
  free(out);
  out = report_text(tb_report_comparison_markdown, pairs, NULL);
  assert_non_null(strstr(
      out, "### tbench gate: a regression · 1 FASTER · 2 SLOWER · 1 SAME · 2 UNSURE · 2 without a verdict"));
  assert_true(strstr(out, "slowest") < strstr(out, "<details>"));
  assert_true(strstr(out, "<code>same</code>") > strstr(out, "<details>"));
  free(out);
  out = report_text(tb_report_comparison_html, pairs, NULL);
  assert_non_null(strstr(out, "<h2>gate: a regression</h2>"));
  free(out);
  assert_null(tb_reporter_find("influx")->write_comparison);
  cJSON *one = cJSON_Parse("{\"time\":{\"why\":\"too noisy\"},\"problem\":\"too "
                           "noisy\",\"exact\":[{\"outcome\":\"better\",\"line\":\"no\"},{\"outcome\":"
                           "\"worse\",\"line\":\"kernels 1 -> 2\"}]}");
  char reason[64];
  tb_comparison_reason(one, reason, sizeof reason);
  assert_string_equal(reason, "too noisy; kernels 1 -> 2");
  cJSON_Delete(one);
}

/* --- damaged documents --- */

/* A figure that is none, or what a terminal would obey. */
static bool is_clean(const char *text) {
  static const char *const words[] = {"nan", "inf", "NaN", "Infinity", "(null)"};
  for (const char *c = text; *c; c++)
    if ((unsigned char)*c < ' ' && !strchr("\t\n\r", *c)) return false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    for (const char *at = text; (at = strstr(at, words[i])); at++) {
      const bool before = at > text && (at[-1] == '_' || (at[-1] | 0x20) >= 'a'),
                 after = (at[strlen(words[i])] | 0x20) >= 'a';
      if (!before && !after) return false;
    }
  }
  return true;
}

static void report_all(const cJSON *document) {
  for (int r = 0; r < tb_reporter_count(); r++) {
    const struct tb_reporter *reporter = tb_reporter_at(r);
    char failure[TB_REPORT_FAILURE] = "", *out[2] = {NULL, NULL};
    const struct tb_report_options options = {.verbose = true, .failure = failure};
    if (!report_document(reporter->write, document, &options, &out[0])) assert_true(*failure);
    if (reporter->write_comparison)
      assert_true(report_document(reporter->write_comparison, document, &options, &out[1]));
    for (int i = 0; i < 2; i++) {
      if (out[i] && !is_clean(out[i])) fail_msg("%s: %s", reporter->name, out[i]);
      free(out[i]);
    }
  }
}

/* The n-th item below an item, counted down; NULL: there are fewer. */
static cJSON *item_at(cJSON *item, int *n) {
  for (cJSON *child = item->child; child; child = child->next) {
    if (!(*n)--) return child;
    cJSON *found = item_at(child, n);
    if (found) return found;
  }
  return NULL;
}

static cJSON *parent_of(cJSON *item, const cJSON *of) {
  for (cJSON *child = item->child; child; child = child->next) {
    if (child == of) return item;
    cJSON *found = parent_of(child, of);
    if (found) return found;
  }
  return NULL;
}

/* Every item in turn is what it should not be. */
static void damage(const char *text) {
  static const char *const instead[] = {"null",
                                        "-1",
                                        "1e999",
                                        "-1e300",
                                        "\"\\u001b[31m\\n<|,=\\\\\"",
                                        "[]",
                                        "[[1],{}]",
                                        "{}",
                                        "{\"x\\u0007\":null}",
                                        "true",
                                        "\"\""};
  cJSON *whole = cJSON_Parse(text);
  assert_non_null(whole);
  for (int place = 0;; place++) {
    int n = place;
    if (!item_at(whole, &n)) break;
    for (size_t i = 0; i < sizeof instead / sizeof *instead; i++) {
      cJSON *copy = cJSON_Duplicate(whole, true), *value = cJSON_Parse(instead[i]);
      n = place;
      cJSON *item = item_at(copy, &n);
      if (item->string) value->string = strdup(item->string);
      assert_true(cJSON_ReplaceItemViaPointer(parent_of(copy, item), item, value));
      report_all(copy);
      cJSON_Delete(copy);
    }
  }
  cJSON_Delete(whole);
}

static void test_damaged(void **state) {
  (void)state;
  char text[2 * sizeof one_case];
  snprintf(text, sizeof text,
           "{\"started\":\"2026-01-02T03:04:05Z\",\"environments\":[{\"host\":\"h\",\"cpu\":{\"model\":\"m\"}"
           ",\"warnings\":[\"w\"]}],\"cases\":[%s]}",
           one_case);
  setenv("CONBENCH_PROJECT_REPOSITORY", "https://github.com/org/repo", 1);
  damage(text);
  damage("{\"kind\":\"comparison\",\"verb\":\"gate\",\"base\":{\"what\":\"b\"},\"problems\":[\"p\"],"
         "\"remarks\":[\"r\"],\"exit\":1,\"meaning\":\"m\",\"cases\":["
         "{\"id\":\"a\",\"presence\":\"both\",\"exit\":1,\"base_ns\":1,\"head_ns\":2,\"time\":{\"verdict\":"
         "\"SLOWER\",\"why\":\"w\",\"ratio\":2,\"lo\":1,\"hi\":3,\"floor\":0.1,\"pairs\":4},"
         "\"exact\":[{\"outcome\":\"worse\",\"line\":\"l\"}],\"problem\":\"p\",\"attribution\":{\"artifact\":"
         "{\"ratio\":1,\"lo\":1,\"hi\":1,\"verdict\":\"SAME\"}}}]}");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_escapes),
                                     cmocka_unit_test(test_numbers),
                                     cmocka_unit_test(test_times),
                                     cmocka_unit_test(test_series),
                                     cmocka_unit_test(test_tags),
                                     cmocka_unit_test(test_small_reports),
                                     cmocka_unit_test(test_lacking),
                                     cmocka_unit_test(test_ranking),
                                     cmocka_unit_test(test_comparison_reports),
                                     cmocka_unit_test(test_damaged)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
