/* What endpoints demand of the formats beside their form: names of a limited length, times in UTC, whole
 * commits, and a hash that is equal only where nothing that runs has changed. */
#include "harness/push/push_format.h"
#include "reporters/series.h"
#include "reporters/text_out.h"
#include "results/rfc3339.h"
#include "tests/reporters/reported.h"

#define TEN    "0123456789"
#define COMMIT TEN TEN TEN TEN

static void test_short_text(void **state) {
  (void)state;
  enum { MOST = 40 };
  static const struct {
    const char *text, *expected;
  } rows[] = {{"", ""},
              {"a", "a"},
              {TEN TEN TEN TEN, TEN TEN TEN TEN},
              {TEN TEN TEN TEN TEN, TEN TEN "012-"}, /* and the digits */
              /* neither half a character nor two hyphens */
              {TEN TEN "01é" TEN TEN, TEN TEN "01-"},
              {TEN TEN "0--" TEN TEN, TEN TEN "0-"}};
  char name[MOST + 1], other[MOST + 1];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tb_short_text(rows[i].text, MOST, name);
    assert_true(strlen(name) <= MOST);
    const char *hyphen = strrchr(rows[i].expected, '-');
    const size_t length = hyphen ? (size_t)(hyphen - rows[i].expected) + 1 : strlen(rows[i].expected);
    assert_memory_equal(name, rows[i].expected, length);
    assert_int_equal(strlen(name), length + (hyphen ? TB_SHORT_DIGITS : 0));
  }
  tb_short_text(TEN TEN TEN TEN TEN, MOST, name);
  tb_short_text(TEN TEN TEN TEN TEN "0", MOST, other);
  assert_string_not_equal(name, other);
}

static void test_utc(void **state) {
  (void)state;
  static const struct {
    double seconds;
    const char *text;
  } rows[] = {{0, "1970-01-01T00:00:00"},
              {1767323045.9, "2026-01-02T03:04:05"},
              {1709251199, "2024-02-29T23:59:59"},
              {-0.5, "1969-12-31T23:59:59"}};
  char text[TB_UTC_TEXT];
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    tb_utc_text(rows[i].seconds, text);
    assert_string_equal(text, rows[i].text);
  }
}

/* --- reports --- */

static cJSON *parsed_report(const char *format, const char *text) {
  setenv("CONBENCH_PROJECT_REPOSITORY", "https://github.com/org/repo", 1);
  unsetenv("CONBENCH_PROJECT_COMMIT");
  char *out = report(format, text, NULL);
  cJSON *parsed = cJSON_Parse(out);
  assert_non_null(parsed);
  free(out);
  return parsed;
}

enum { LNT_HASH = 32 /* characters of its column */ };

#define RESULT(program, artifact)                                                                            \
  "{\"started\":\"2026-01-02T01:04:05.5+02:00\",\"finished\":null,\"tbench\":{" program                      \
  "},\"environments\":[{\"host\":\"h\"}],"                                                                   \
  "\"cases\":[{\"id\":\"a\",\"env\":0,\"outcome\":\"ok\",\"case\":{},\"steady\":{\"median_ns\":7},"          \
  "\"graph\":{" artifact "}}]}"

/* The hash that LNT gets; "": none. */
static void lnt_hash(const char *text, char out[128]) {
  cJSON *lnt = parsed_report("lnt", text);
  snprintf(out, 128, "%s", tb_doc_text(cJSON_GetArrayItem(tb_doc_at(lnt, "tests"), 0), "hash", ""));
  assert_string_equal(tb_doc_text(lnt, "run.start_time", "?"), "2026-01-01T23:04:05");
  assert_string_equal(tb_doc_text(lnt, "run.end_time", "?"), "2026-01-01T23:04:05");
  assert_string_equal(tb_doc_text(lnt, "run.llvm_project_revision", "?"), "20260101230405");
  cJSON_Delete(lnt);
}

/* LNT hides changes between equal hashes: the program that runs an artifact counts as much as the
 * artifact. */
static void test_lnt_hash(void **state) {
  (void)state;
  char same[128], again[128], other[128];
  lnt_hash(RESULT("\"commit\":\"abc123\",\"build\":\"g\"", "\"artifact\":\"1\""), same);
  lnt_hash(RESULT("\"commit\":\"abc123\",\"build\":\"g\"", "\"artifact\":\"1\""), again);
  assert_int_equal(strlen(same), LNT_HASH);
  assert_string_equal(same, again);
  static const char *const changed[] = {
      RESULT("\"commit\":\"abc124\",\"build\":\"g\"", "\"artifact\":\"1\""),
      RESULT("\"commit\":\"abc123\",\"build\":\"c\"", "\"artifact\":\"1\""),
      RESULT("\"commit\":\"abc123\",\"build\":\"g\"", "\"artifact\":\"2\"")};
  static const char *const unknown[] = {
      RESULT("\"commit\":\"abc123-dirty\",\"build\":\"g\"", "\"artifact\":\"1\""),
      RESULT("\"commit\":\"unknown\",\"build\":\"g\"", "\"artifact\":\"1\""),
      RESULT("\"commit\":\"abc123\",\"build\":\"g\"", "\"artifact\":null")};
  for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
    lnt_hash(changed[i], other);
    assert_int_equal(strlen(other), LNT_HASH);
    assert_string_not_equal(other, same);
  }
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    lnt_hash(unknown[i], other);
    assert_string_equal(other, "");
  }
}

/* Conbench finds the parents of a whole commit alone, and Bencher takes no other one: that of a result, in
 * one field or the other. */
#define WHOLE(commit, whole) RESULT("\"commit\":\"" commit "\",\"commit_whole\":" whole, "")
static const struct {
  const char *document, *commit;
} commits[] = {{RESULT("\"commit\":\"" COMMIT "\"", ""), COMMIT},
               {RESULT("\"commit\":\"" COMMIT "-dirty\"", ""), NULL},
               {RESULT("\"commit\":\"abc123abc123\"", ""), NULL},
               {RESULT("\"commit\":\"" COMMIT TEN TEN "0123\"", ""), NULL},
               {WHOLE(TEN "01", "\"" COMMIT "\""), COMMIT},
               {WHOLE(TEN "01-dirty", "\"" COMMIT "-dirty\""), NULL},
               {WHOLE(COMMIT, "\"" COMMIT "-dirty\""), NULL},
               {WHOLE(TEN "01", "\"" COMMIT TEN TEN "0123\""), NULL},
               {WHOLE("unknown", "null"), NULL},
               {WHOLE(TEN "01", "7"), NULL}};
enum { COMMITS = sizeof commits / sizeof *commits };

static void assert_commit(const char *found, int row) {
  if (!found != !commits[row].commit || (found && strcmp(found, commits[row].commit) != 0))
    fail_msg("row %d: %s", row, found ? found : "none");
}

static void test_conbench_commit(void **state) {
  (void)state;
  for (int i = 0; i < COMMITS; i++) {
    cJSON *conbench = parsed_report("conbench", commits[i].document);
    assert_commit(tb_doc_text(cJSON_GetArrayItem(conbench, 0), "github.commit", NULL), i);
    cJSON_Delete(conbench);
  }
  setenv("CONBENCH_PROJECT_COMMIT", "theirs", 1); /* what Conbench's own clients read goes before it */
  char *out = report("conbench", WHOLE(TEN "01", "\"" COMMIT "\""), NULL);
  assert_non_null(strstr(out, "\"commit\": \"theirs\""));
  free(out);
  unsetenv("CONBENCH_PROJECT_COMMIT");
}

static void test_bencher_commit(void **state) {
  (void)state;
  struct tc_error err = {0};
  struct tc_arena *arena = tc_arena_new(tc_alloc_system());
  const struct tb_url url = {.query = "project=p"};
  for (int i = 0; i < COMMITS; i++) {
    tb_push_bodies bodies = {0};
    cJSON *result = cJSON_Parse(commits[i].document);
    const struct tb_push_document document = {.result = result};
    assert_int_equal(tb_push_make(arena, tb_push_format_find("bencher"), &document,
                                  &(struct tb_push_place){&url, "main"}, &bodies, &err),
                     TC_OK);
    assert_int_equal(bodies.len, 1);
    cJSON *body = cJSON_Parse(bodies.data[0].text);
    assert_commit(tb_doc_text(body, "hash", NULL), i);
    cJSON_Delete(body);
    cJSON_Delete(result);
  }
  tc_arena_free(arena);
}

/* Two long names with one begin stay two, and none is longer than its format has room for. */
static void test_long_names(void **state) {
  (void)state;
  enum { LONG = 4096 };
  char stage[2 * TB_SERIES_NAME], text[4 * LONG];
  memset(stage, 's', sizeof stage);
  stage[70] = '\0';
  snprintf(text, sizeof text,
           "{\"environments\":[],\"cases\":[{\"id\":\"%0*d1\",\"outcome\":\"ok\",\"steady\":{\"median_ns\":1}"
           ",\"compile\":{\"stages_ns\":{\"%sa\":3,\"%sb\":4}}},"
           "{\"id\":\"%0*d2\",\"outcome\":\"ok\",\"steady\":{\"median_ns\":2}}]}",
           LONG, 0, stage, stage, LONG, 0);
  cJSON *bencher = parsed_report("bencher", text);
  const cJSON *first = bencher->child->next /* behind the run */, *measure;
  int measures = 0;
  assert_int_equal(cJSON_GetArraySize(bencher), 3);
  assert_string_not_equal(first->string, first->next->string);
  assert_int_equal(strlen(first->string), 1024);
  cJSON_ArrayForEach(measure, first) {
    measures++;
    assert_true(strlen(measure->string) <= 64 &&
                strspn(measure->string, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(measure->string));
    if (measure->next) assert_string_not_equal(measure->string, measure->next->string);
  }
  assert_int_equal(measures, 3);
  cJSON_Delete(bencher);
  snprintf(text, sizeof text,
           "{\"started\":\"2026-01-02T01:04:05Z\",\"environments\":[{\"host\":\"%0*d\",\"os\":\"%0*d\","
           "\"cpu\":{\"model\":\"%0*d\"}}],\"cases\":[]}",
           LONG, 0, LONG, 0, LONG, 0);
  cJSON *lnt = parsed_report("lnt", text);
  assert_int_equal(strlen(tb_doc_text(lnt, "machine.name", "")), 256);
  assert_int_equal(strlen(tb_doc_text(lnt, "machine.os", "")), 256);
  assert_int_equal(strlen(tb_doc_text(lnt, "machine.hardware", "")), 256);
  cJSON_Delete(lnt);
}

/* Also a long name ends in the name of its aggregate, by which compare.py knows it. */
static void test_long_aggregate(void **state) {
  (void)state;
  enum { LONG = 4096 };
  char text[2 * LONG];
  snprintf(text, sizeof text,
           "{\"cases\":[{\"id\":\"%0*d\",\"outcome\":\"ok\",\"steady\":{\"median_ns\":1}}]}", LONG, 0);
  cJSON *google = parsed_report("google_benchmark", text);
  const cJSON *median = cJSON_GetArrayItem(tb_doc_at(google, "benchmarks"), 0);
  const char *name = tb_doc_text(median, "name", "");
  assert_string_equal(name + strlen(name) - strlen("_median"), "_median");
  cJSON_Delete(google);
}

/* A report of one machine cannot hold cases of two: nothing is written of such, and it is said which formats
 * can. */
static void test_two_hosts(void **state) {
  (void)state;
  enum { LNT, BENCHER, FORMATS };
  static const struct {
    const char *id, *env, *outcome;
    bool fits[FORMATS];
  } rows[] = {{"a", "0", "ok", {true, true}},        {"a", "1", "ok", {false, false}},
              {"a", "1", "crashed", {false, false}}, {"a", "1", "unsupported", {true, true}},
              {"a", "2", "ok", {true, true}},        {"b", "1", "ok", {false, true}}};
  static const char *const formats[FORMATS] = {"lnt", "bencher"}, *const tell_apart[] = {"csv", "influx",
                                                                                         "prometheus",
                                                                                         "victoriametrics"};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char text[512], failure[TB_REPORT_FAILURE] = "";
    const struct tb_report_options options = {.failure = failure};
    snprintf(text, sizeof text,
             "{\"started\":\"2026-01-02T01:04:05Z\",\"environments\":[{\"host\":\"first\"},{\"host\":"
             "\"second\"},{\"host\":\"first\"}],\"cases\":["
             "{\"id\":\"a\",\"env\":0,\"outcome\":\"ok\",\"steady\":{\"median_ns\":7}},{\"id\":\"%s\","
             "\"env\":%s,\"outcome\":\"%s\",\"steady\":{\"median_ns\":9}}]}",
             rows[i].id, rows[i].env, rows[i].outcome);
    cJSON *document = cJSON_Parse(text);
    for (size_t k = 0; k < FORMATS; k++) {
      char *out = NULL;
      *failure = '\0';
      assert_int_equal(report_document(tb_reporter_find(formats[k])->write, document, &options, &out),
                       rows[i].fits[k]);
      if (!rows[i].fits[k])
        assert_true(!*out && strstr(failure, "of two hosts, 'first' and 'second'") &&
                    strstr(failure, "csv, influx, prometheus and victoriametrics"));
      free(out);
    }
    for (size_t k = 0; k < sizeof tell_apart / sizeof *tell_apart && !rows[i].fits[LNT]; k++) {
      char *out = NULL;
      assert_true(report_document(tb_reporter_find(tell_apart[k])->write, document, &options, &out));
      assert_true(strstr(out, "first") && strstr(out, "second"));
      free(out);
    }
    cJSON_Delete(document);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_short_text),      cmocka_unit_test(test_utc),
      cmocka_unit_test(test_lnt_hash),        cmocka_unit_test(test_two_hosts),
      cmocka_unit_test(test_conbench_commit), cmocka_unit_test(test_bencher_commit),
      cmocka_unit_test(test_long_names),      cmocka_unit_test(test_long_aggregate)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
