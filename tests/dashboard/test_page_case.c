/* What a case's page says without its script, and what it hands to it; and where the pages of comparisons
 * lead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dashboard/api/series.h"
#include "dashboard/pages/html.h"
#include "dashboard/server/answer.h"
#include "results/outcome.h"
#include "tests/dashboard/answering.h"

static const char first_case[] = "load/case0/inductor/default/cpu/f32/b8/machine/t2";

static void sql(struct fixture *f, const char *text) {
  assert_int_equal(sqlite3_exec(f->store.db, text, NULL, NULL, NULL), SQLITE_OK);
}

/* So many runs of the first case. */
static void store_runs(struct fixture *f, int count) {
  for (int i = 0; i < count; i++) store_document(f, (long long)i * DOCUMENT_SERIES, 1);
}

static void ask_for(const char *machine) {
  memset(arguments, 0, sizeof arguments);
  arguments[0].name = "case", arguments[0].value = first_case;
  arguments[1].name = "machine", arguments[1].value = machine;
}

/* How often a text is there. */
static int count_of(const char *text, const char *what) {
  int n = 0;
  for (; (text = strstr(text, what)); text += strlen(what)) n++;
  return n;
}

static const char chart[] = "<figure class=chart ";

/* However many of the newest runs failed, a chart of those before them is there. */
static void test_failed_since(void **state) {
  enum { GOOD = 3, FAILED = 65 };
  struct fixture *f = *state;
  struct tb_query request;
  char failed[512];
  store_runs(f, GOOD + FAILED);
  ask_for(NULL);
  const int charts = count_of(answer_of(f, "/case", &request), chart);
  end(&request);
  assert_true(charts > 0);
  snprintf(failed, sizeof failed,
           "UPDATE points SET outcome = %d, value = NULL, steady = NULL, steady_p05 = NULL, steady_p95 = "
           "NULL, baseline = NULL, speedup = NULL, speedup_lo = NULL, speedup_hi = NULL, cold = NULL"
           " WHERE started >= (SELECT started FROM points ORDER BY started LIMIT 1 OFFSET %d)",
           TB_OUTCOME_CRASHED, GOOD);
  sql(f, failed);
  assert_int_equal(count_of(answer_of(f, "/case", &request), chart), charts);
  end(&request);
}

/* Each figure that a chart has is in the table of runs too; where there is no such chart, neither is the
 * column. */
static void test_table(void **state) {
  static const char *const cells[] = {"<td class=figure>1.25<",   "<td class=figure>3.00 kB",
                                      "<td class=figure>5.00 MB", "<td class=figure>7.00 kB",
                                      "<td class=figure>11<",     "<td class=figure>123456789<"};
  static const char *const columns[] = {">over probe<", ">moved<",   ">peak memory<",
                                        ">code<",       ">kernels<", ">instructions<"};
  struct fixture *f = *state;
  struct tb_query request;
  store_runs(f, 3);
  ask_for(NULL);
  const char *text = answer_of(f, "/case", &request);
  for (int i = 0; i < TB_COUNT(columns); i++) assert_null(strstr(text, columns[i]));
  end(&request);
  sql(f, "UPDATE points SET probe = 1, value = 1.25, moved = 3000, peak = 5e6, code = 7000, kernels = 11, "
         "instructions = 123456789");
  sql(f, "UPDATE points SET probe = 2, value = 77.5 WHERE started = (SELECT min(started) FROM points)");
  text = answer_of(f, "/case", &request);
  assert_int_equal(count_of(text, chart), 7);
  for (int i = 0; i < TB_COUNT(columns); i++)
    if (count_of(text, columns[i]) != 1) fail_msg("%s", columns[i]);
  for (int i = 0; i < TB_COUNT(cells); i++)
    if (count_of(text, cells[i]) != (i ? 3 : 2)) fail_msg("%s", cells[i]);
  assert_null(strstr(text, "77.5")); /* over another calibration kernel: another scale */
  end(&request);
}

/* A machine may have any name: what the script asks for is what a link would ask for; and it says of how many
 * runs those are. */
static void test_names(void **state) {
  struct fixture *f = *state;
  struct tb_query request;
  store_runs(f, 2);
  sql(f, "UPDATE machines SET name = 'a' || char(10) || '\"b&c'");
  ask_for("a\n\"b&c");
  const char *text = answer_of(f, "/case", &request);
  assert_non_null(strstr(text, " data-series=\"/api/v1/"
                               "series?case=load%2Fcase0%2Finductor%2Fdefault%2Fcpu%2Ff32%2Fb8%2Fmachine%"
                               "2Ft2&amp;machine=a%0A%22b%26c&amp;limit=2000\""));
  assert_non_null(strstr(text, " data-runs=2 "));
  end(&request);
}

/* A case that head's run lacks is on base's machine, and so is its link. */
static void test_vanished(void **state) {
  static const char case_link[] = "href=\"/"
                                  "case?case=load%%2Fcase%d%%2Finductor%%2Fdefault%%2Fcpu%%2Ff32%%2Fb8%%"
                                  "2Fmachine%%2Ft2&amp;machine=h%d%%20%%C2%%B7%%20cpu\"";
  struct fixture *f = *state;
  struct tb_query request;
  char document[DOCUMENT_HEAD + DOCUMENT_CASE], link[sizeof case_link];
  store_document(f, 0, 2);
  document_write(document, 1000, 1);
  memcpy(strstr(document, "\"h1\""), "\"h2\"", strlen("\"h2\""));
  assert_string_equal(store(f, document), "");
  memset(arguments, 0, sizeof arguments);
  arguments[0].name = "base", arguments[0].value = "commit0";
  arguments[1].name = "head", arguments[1].value = "commit1";
  arguments[2].name = "base_machine", arguments[2].value = "h1 · cpu";
  arguments[3].name = "head_machine", arguments[3].value = "h2 · cpu";
  const char *text = answer_of(f, "/compare", &request);
  assert_non_null(strstr(text, ">vanished<"));
  snprintf(link, sizeof link, case_link, 0, 2); /* on both sides */
  assert_non_null(strstr(text, link));
  snprintf(link, sizeof link, case_link, 1, 1);
  assert_non_null(strstr(text, link));
  end(&request);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_failed_since, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_table, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_vanished, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
