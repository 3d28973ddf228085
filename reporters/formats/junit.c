/* JUnit XML: a suite a result, a test a case. What is not right is an error (crashed, out of time, …) or a
 * failure (wrong), what is not built is skipped; a run that did not end, or was interrupted, is an error of
 * the whole. Of a comparison: a regression is a failure; what had to be told and could not be, or failed, is
 * an error; what need not be told is skipped, with the reason. Figures stand in system-out, which every
 * reader takes. `time` is that of one compiled call. */
#include <math.h>
#include <string.h>

#include "reporters/series.h"
#include "reporters/table.h"
#include "reporters/text_out.h"
#include "results/rfc3339.h"

static const double s_per_ns = 1e-9;
enum { REASON = 1024 };
enum verdict { PASSED, FAILURE, ERROR, SKIPPED };
static const char *const elements[] = {NULL, "failure", "error", "skipped"};

struct totals {
  int tests, count[4];
};

/* A reader would make spaces of line ends and tabs. */
static const char *escape_attribute(uint32_t c, char *buffer) {
  return c == '\n' || c == '\t' ? " " : tb_escape_markup(c, buffer);
}

static void put_attribute(FILE *out, const char *name, const char *text) {
  fprintf(out, " %s=\"", name);
  tb_put_text(out, text, escape_attribute);
  fputc('"', out);
}

/* Decimal notation alone: the schemas' type of a time knows no exponent. */
static void put_time(FILE *out, double ns) {
  if (isfinite(ns)) fprintf(out, " time=\"%.9f\"", ns * s_per_ns);
}

static void begin_test(FILE *out, const char *group, const char *id, double ns) {
  fputs("    <testcase", out);
  put_attribute(out, "classname", group);
  put_attribute(out, "name", id);
  put_time(out, ns);
  fputs(">\n", out);
}

static void put_verdict(FILE *out, enum verdict verdict, const char *type, const char *message) {
  if (verdict == PASSED) return;
  fprintf(out, "      <%s", elements[verdict]);
  if (verdict != SKIPPED) put_attribute(out, "type", type);
  put_attribute(out, "message", message);
  fputs("/>\n", out);
}

/* What is wrong with the whole, as a test of its own: there may be no case that failed. Its text stands
 * between the two. */
static void begin_whole(FILE *out, const char *type, const char *message) {
  begin_test(out, "tbench", "the whole", NAN);
  fprintf(out, "      <error type=\"%s\"", type);
  put_attribute(out, "message", message);
  fputc('>', out);
}

static void end_whole(FILE *out) { fputs("</error>\n    </testcase>\n", out); }

/* --- results --- */

static enum verdict verdict_of(const cJSON *one_case) {
  if (tb_case_right(one_case)) return PASSED;
  if (tb_case_absent(one_case)) return SKIPPED;
  return strcmp(tb_doc_text(one_case, "outcome", ""), "wrong") ? ERROR : FAILURE;
}

static void put_figures(FILE *out, const cJSON *one_case) {
  fputs("      <system-out>", out);
  for (struct tb_series series = {.row = 0}; tb_series_next(one_case, &series);) {
    fprintf(out, "%s%s ", series.name, tb_unit_own(series.unit));
    tb_put_number(out, series.value);
    if (isfinite(series.lo)) {
      fputs(" [", out);
      tb_put_number(out, series.lo);
      fputs(", ", out);
      tb_put_number(out, series.hi);
      fputc(']', out);
    }
    fputc('\n', out);
  }
  fputs("</system-out>\n", out);
}

static void put_case(FILE *out, const cJSON *one_case) {
  const enum verdict verdict = verdict_of(one_case);
  const char *outcome = tb_doc_text(one_case, "outcome", "?"), *error = tb_case_error(one_case);
  char group[TB_GROUP];
  snprintf(group, sizeof group, "%s.%s", tb_doc_text(one_case, "case.suite", "?"),
           tb_doc_text(one_case, "case.workload", "?"));
  begin_test(out, group, tb_doc_text(one_case, "id", "?"),
             verdict == PASSED ? tb_doc_number(one_case, "steady.median_ns") : NAN);
  put_verdict(out, verdict, outcome, error ? error : outcome);
  if (verdict == PASSED) put_figures(out, one_case);
  fputs("    </testcase>\n", out);
}

/* Cases that are missing have no test that could fail, and those before which Ctrl-C came are skipped. */
static void put_incomplete(FILE *out, const cJSON *result) {
  char why[REASON];
  if (!tb_result_incomplete(result, why, sizeof why)) return;
  begin_whole(out, "incomplete", why);
  tb_put_text(out, why, tb_escape_markup);
  end_whole(out);
}

/* --- comparisons --- */

static enum verdict verdict_of_pair(const cJSON *one) {
  enum { PASS, REGRESSION };
  const double exit = tb_doc_number(one, "exit");
  if (exit == REGRESSION) return FAILURE;
  if (exit > PASS) return ERROR;
  const char *verdict = tb_doc_text(one, "time.verdict", "");
  return !strcmp(verdict, "UNSURE") || !strcmp(tb_comparison_verdict(one), "left out") ||
                 !strcmp(tb_comparison_verdict(one), "vanished")
             ? SKIPPED
             : PASSED;
}

static const char *type_of_pair(const cJSON *one) {
  enum { REGRESSION = 1, NOT_MEASURABLE = 3, WRONG = 5 };
  const double exit = tb_doc_number(one, "exit");
  return exit == REGRESSION       ? "regression"
         : exit == NOT_MEASURABLE ? "not measurable"
         : exit == WRONG          ? "wrong"
                                  : "failed";
}

static void put_pair(FILE *out, const cJSON *one) {
  char message[REASON + 2 * TB_CELL];
  /* "SLOWER 1.100 [1.050, 1.150]: kernels 1 -> 2 (+100%): worse" */
  char interval[TB_CELL], reason[REASON];
  tb_comparison_interval(one, interval);
  tb_comparison_reason(one, reason, sizeof reason);
  snprintf(message, sizeof message, "%s %s%s%s", tb_comparison_verdict(one), interval, *reason ? ": " : "",
           reason);
  begin_test(out, "tbench", tb_doc_text(one, "id", "?"), tb_doc_number(one, "head_ns"));
  put_verdict(out, verdict_of_pair(one), type_of_pair(one), message);
  fputs("      <system-out>", out);
  tb_put_text(out, message, tb_escape_markup);
  fputs("</system-out>\n    </testcase>\n", out);
}

/* The first problem is the message, all are the text. */
static void put_problems(FILE *out, const cJSON *problems) {
  const cJSON *problem;
  begin_whole(out, "problem", cJSON_IsString(problems->child) ? problems->child->valuestring : "?");
  cJSON_ArrayForEach(problem, problems) {
    tb_put_text(out, cJSON_IsString(problem) ? problem->valuestring : "?", tb_escape_markup);
    fputc('\n', out);
  }
  end_whole(out);
}

/* --- the document --- */

static bool is_comparison(const cJSON *document) {
  return !strcmp(tb_doc_text(document, "kind", ""), "comparison");
}

static struct totals count_of(const cJSON *document) {
  struct totals totals = {0};
  const cJSON *one;
  char why[REASON];
  const bool problems = is_comparison(document) ? cJSON_GetArraySize(tb_doc_at(document, "problems")) > 0
                                                : tb_result_incomplete(document, why, sizeof why);
  cJSON_ArrayForEach(one, tb_doc_at(document, "cases")) {
    totals.count[is_comparison(document) ? verdict_of_pair(one) : verdict_of(one)]++;
    totals.tests++;
  }
  totals.tests += problems;
  totals.count[ERROR] += problems;
  return totals;
}

static void put_totals(FILE *out, const struct totals *totals) {
  fprintf(out, " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\"", totals->tests,
          totals->count[FAILURE], totals->count[ERROR], totals->count[SKIPPED]);
}

static void put_suite(FILE *out, const cJSON *document) {
  const cJSON *one, *environment = cJSON_GetArrayItem(tb_doc_at(document, "environments"), 0);
  const char *hosts[2], *host = tb_two_hosts(document, hosts)
                                    ? NULL
                                    : tb_doc_text(environment, "host", NULL); /* a suite has one host */
  const double started = tb_doc_time(document, "started");
  const bool comparison = is_comparison(document);
  const struct totals totals = count_of(document);
  fputs("  <testsuite", out);
  put_attribute(
      out, "name",
      comparison ? tb_doc_text(document, "verb", "compare")
                 : tb_doc_text(cJSON_GetArrayItem(tb_doc_at(document, "cases"), 0), "case.suite", "tbench"));
  put_totals(out, &totals);
  if (host) put_attribute(out, "hostname", host);
  if (isfinite(started)) {
    char time[TB_UTC_TEXT];
    tb_utc_text(started, time);
    fprintf(out, " timestamp=\"%s\"", time);
  }
  fputs(">\n", out);
  cJSON_ArrayForEach(one, tb_doc_at(document, "cases")) {
    if (comparison)
      put_pair(out, one);
    else
      put_case(out, one);
  }
  if (!comparison)
    put_incomplete(out, document);
  else if (cJSON_GetArraySize(tb_doc_at(document, "problems")))
    put_problems(out, tb_doc_at(document, "problems"));
  fputs("  </testsuite>\n", out);
}

bool tb_report_junit(const cJSON *documents, const struct tb_report_options *options, FILE *out) {
  struct totals all = {0};
  (void)options;
  for (int i = 0; i < tb_doc_count(documents); i++) {
    const struct totals one = count_of(tb_doc_nth(documents, i));
    all.tests += one.tests;
    for (size_t k = 0; k < sizeof all.count / sizeof *all.count; k++) all.count[k] += one.count[k];
  }
  fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites", out);
  put_totals(out, &all);
  fputs(">\n", out);
  for (int i = 0; i < tb_doc_count(documents); i++) put_suite(out, tb_doc_nth(documents, i));
  fputs("</testsuites>\n", out);
  return !ferror(out);
}

bool tb_report_comparison_junit(const cJSON *documents, const struct tb_report_options *options, FILE *out) {
  return tb_report_junit(documents, options, out);
}
