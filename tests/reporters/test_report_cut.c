/* What formats tell of a run that was cut, by the user, by its end or by its time: none takes it for a whole
 * one. */
#include "tests/reporters/reported.h"

/* A run that was killed leaves no trace of what it did not reach, and one that was interrupted skips it:
 * neither is green. */
static void test_incomplete(void **state) {
  (void)state;
#define PART(finished, interrupted, planned, cases)                                                          \
  "{\"started\":\"2026-01-02T03:04:05Z\",\"finished\":" finished ",\"interrupted\":" interrupted             \
  ",\"planned\":" planned ",\"cases\":[" cases "]}"
#define RIGHT       "{\"id\":\"a\",\"outcome\":\"ok\",\"steady\":{\"median_ns\":1}}"
#define NOT_REACHED "{\"id\":\"b\",\"outcome\":\"error\",\"interrupted\":true}"
  static const struct {
    const char *document, *why, *totals;
  } rows[] = {{PART("null", "false", "9", RIGHT "," RIGHT),
               "the run did not end: 7 of 9 planned cases were not measured",
               " tests=\"3\" failures=\"0\" errors=\"1\" skipped=\"0\">\n"},
              {PART("null", "false", "0", ""), "the run did not end: replicates may be missing",
               " tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n"},
              {PART("\"2026-01-02T03:05:05Z\"", "true", "3", RIGHT "," NOT_REACHED "," NOT_REACHED),
               "the run was interrupted: 2 of 3 planned cases were not measured",
               " tests=\"4\" failures=\"0\" errors=\"1\" skipped=\"2\">\n"},
              {PART("\"2026-01-02T03:05:05Z\"", "true", "1", RIGHT),
               "the run was interrupted: replicates may be missing",
               " tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"0\">\n"},
              {PART("\"2026-01-02T03:05:05Z\"", "false", "2", RIGHT),
               "the result is not whole: 1 of 2 planned cases was not measured",
               " tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"0\">\n"},
              {PART("\"2026-01-02T03:05:05Z\"", "false", "1", RIGHT), NULL,
               " tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"0\">\n"}};
  static const struct {
    const char *format, *where;
  } formats[] = {{"junit", "<error type=\"incomplete\" message=\"%s\">"},
                 {"lnt", "\"tbench_incomplete\": \"%s\""},
                 {"google_benchmark", "\"%s\""}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
      char expected[256], *out = report(formats[f].format, rows[i].document, NULL);
      const int before = (int)strcspn(formats[f].where, "%");
      snprintf(expected, sizeof expected, "%.*s%s%s", before, formats[f].where,
               rows[i].why ? rows[i].why : "", formats[f].where + before + 2);
      if (rows[i].why && !strstr(out, expected))
        fail_msg("%s lacks %s: %s", formats[f].format, expected, out);
      if (!rows[i].why &&
          (strstr(out, "the run ") || strstr(out, "not whole") || strstr(out, "tbench_incomplete")))
        fail_msg("%s: %s", formats[f].format, out);
      if (!f && !strstr(out, rows[i].totals)) fail_msg("%s is not in %s", rows[i].totals, out);
      free(out);
    }
  }
}

/* Whether a text has `form` with `word` in the place of its %s. */
static bool says(const char *text, const char *form, const char *word) {
  const char *place = strstr(form, "%s");
  char expected[128];
  snprintf(expected, sizeof expected, "%.*s%s%s", (int)(place - form), form, word, place + strlen("%s"));
  return strstr(text, expected) != NULL;
}

/* Formats of numbers have no place for a sentence: one of them says whether the run is whole, and of each
 * case whether its replicates are. */
static void test_complete(void **state) {
  (void)state;
#define STOPPED(stop) "{\"id\":\"a\",\"env\":0,\"outcome\":\"ok\",\"speedup\":{\"ratio\":2" stop "}}"
#define STOP(word)    STOPPED(",\"replicates_stop\":" word)
#define ENDED         "\"2026-01-02T03:05:05Z\""
  static const struct {
    const char *document;
    int run, one_case /* -1: it does not say */;
  } rows[] = {{PART(ENDED, "false", "1", STOP("\"target\"")), 1, 1},
              {PART(ENDED, "false", "1", STOP("\"most\"")), 1, 1},
              {PART(ENDED, "false", "1", STOPPED("")), 1, -1},
              {PART(ENDED, "false", "1", STOP("\"budget\"")), 1, 0},
              {PART(ENDED, "true", "1", STOP("\"interrupted\"")), 0, 0},
              {PART("null", "false", "1", STOP("null")), 0, 0},
              {PART(ENDED, "true", "2", STOP("\"count\"") "," NOT_REACHED), 0, 1},
              {PART(ENDED, "false", "2", STOP("\"count\"")), 0, 1},
              {PART("null", "false", "9", ""), 0, -1}};
  static const struct {
    const char *format, *run, *one_case, *word[2];
  } formats[] = {
      {"prometheus", "\ntbench_run_complete %s\n", "\ntbench_case_complete{id=\"a\"} %s\n", {"0", "1"}},
      {"victoriametrics",
       "\"tbench_run_complete\"},\"values\":[%s],",
       "\"tbench_case_complete\",\"id\":\"a\"},\"values\":[%s],",
       {"0", "1"}},
      {"influx", "tbench_run complete=%s 1767323045000000000\n", ",ok=true,complete=%s,", {"false", "true"}},
      {"bencher",
       "\"tbench/run\": {\n    \"complete\": {\n      \"value\": %s\n",
       "    },\n    \"complete\": {\n      \"value\": %s\n",
       {"0", "1"}}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
      char *out = report(formats[f].format, rows[i].document, NULL);
      for (int wanted = 0; wanted < 2; wanted++) {
        if (!says(out, formats[f].run, formats[f].word[wanted]) != (wanted != rows[i].run))
          fail_msg("%s, row %zu, of the run: %s", formats[f].format, i, out);
        if (!says(out, formats[f].one_case, formats[f].word[wanted]) != (wanted != rows[i].one_case))
          fail_msg("%s, row %zu, of the case: %s", formats[f].format, i, out);
      }
      free(out);
    }
  }
  char *both =
      report("bencher", "[" PART("null", "false", "1", "") "," PART(ENDED, "false", "0", "") "]", NULL);
  assert_non_null(strstr(both, "\"value\": 0")); /* one that was cut is enough */
  free(both);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_incomplete), cmocka_unit_test(test_complete)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
