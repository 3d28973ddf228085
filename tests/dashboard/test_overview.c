/* What the first page says, and what there is to choose from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "results/outcome.h"
#include "tests/dashboard/answering.h"
#include "tests/dashboard/sql.h"

static void open_step(struct fixture *f, int series, int64_t started, const char *closed) {
  char sql[256];
  snprintf(sql, sizeof sql,
           "INSERT INTO changes VALUES(%d, %lld, (SELECT id FROM commits), 1, 1.0, 1.1, 0.001, %s, NULL)",
           series, (long long)started, closed);
  assert_int_equal(sqlite3_exec(f->store.db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void overview_has(struct fixture *f, const char *path, const char *text) {
  struct tb_query request;
  const char *answer = answer_of(f, path, &request);
  if (!strstr(answer, text)) fail_msg("%s: there is no %s in %s", path, text, answer);
  end(&request);
}

/* A case that became slower long ago is no news, and is seen on the first page all the same until something
 * takes it back. */
static void test_open_regressions(void **state) {
  static const int64_t hour_ms = 3600LL * 1000, day_ms = 24 * 3600LL * 1000;
  struct fixture *f = *state;
  char oldest[64];
  const int64_t now = tb_now_ms();
  store_document(f, 0, 5);
  overview_has(f, "/", "<b>0</b> <a href=\"/regressions?state=open\">open regressions</a>");
  overview_has(f, "/", "No step to slower is open");
  overview_has(
      f, "/api/v1/overview",
      "\"open_regressions\":{\"count\":0,\"within_7_days\":0,\"within_30_days\":0,\"oldest_ms\":null}");
  open_step(f, 1, now - 143 * day_ms - hour_ms, "NULL");
  overview_has(f, "/", "<b>1</b> <a href=\"/regressions?state=open\">open regression</a>");
  open_step(f, 2, now - 7 * day_ms - hour_ms, "NULL");
  open_step(f, 3, now - 2 * hour_ms, "NULL");
  open_step(f, 4, now - 300 * day_ms, "5"); /* it was taken back */
  overview_has(f, "/", "<b>3</b> <a href=\"/regressions?state=open\">open regressions</a>");
  overview_has(f, "/",
               "Of <a href=\"/regressions?state=open\">3 open regressions</a> 1 began less than 7 days ago, "
               "1 before that and less than 30 days ago, 1 earlier; the oldest one is open for 143 days.");
  overview_has(f, "/", "+10.0%<td class=figure>143 days<td>");
  overview_has(f, "/", "<td class=figure>less than a day<td>");
  snprintf(oldest, sizeof oldest, "\"within_30_days\":2,\"oldest_ms\":%lld}",
           (long long)(now - 143 * day_ms - hour_ms));
  overview_has(f, "/api/v1/overview", oldest);
}

/* A name that nothing has is not there to choose, also in a database that has some from before they went with
 * what had them. */
static void test_commits(void **state) {
  struct fixture *f = *state;
  struct tb_query request;
  store_document(f, 0, 1);
  assert_int_equal(
      sqlite3_exec(f->store.db, "INSERT INTO commits(name) VALUES('left over')", NULL, NULL, NULL),
      SQLITE_OK);
  assert_string_equal(answer_of(f, "/api/v1/commits", &request),
                      "{\"commits\":[\n{\"name\":\"commit0\"}]}\n");
  end(&request);
  assert_null(strstr(answer_of(f, "/compare", &request), "left over"));
  end(&request);
}

/* --- what fails --- */

/* A run that was ended by hand did not come to all of its cases: they did not fail. What it came to keeps its
 * place in the document. */
static void test_not_reached(void **state) {
  struct fixture *f = *state;
  struct tb_query request;
  char text[DOCUMENT_HEAD + 3 * DOCUMENT_CASE];
  document_write(text, 0, 3);
  char *ended = with_first(
      text, "\"outcome\":\"ok\",\"error\":null",
      "\"outcome\":\"error\",\"error\":\"interrupted before it was measured\",\"interrupted\":true");
  char *failed = with_first(ended, "\"outcome\":\"ok\",\"error\":null",
                            "\"outcome\":\"error\",\"error\":\"out of luck\",\"interrupted\":false");
  assert_string_equal(store(f, failed), "");
  assert_true(number_of(f->store.db, "SELECT count(*) FROM series") == 2);
  assert_true(number_of(f->store.db, "SELECT cases FROM documents") == 2);
  assert_true(tb_store_meta(&f->store, "points") == 2);
  assert_true(number_of(f->store.db, "SELECT min(position) * 10 + max(position) FROM points") == 12);
  const char *answer = answer_of(f, "/api/v1/overview", &request);
  assert_non_null(strstr(answer, "{\"case\":\"load/case1/"));
  assert_null(strstr(answer, "case0/"));
  end(&request);
  free(ended), free(failed);
}

/* A result whose rows are of one case: as many as it has outcomes. */
static void arrive(struct fixture *f, int64_t started, const char *commit, const int *outcomes, int count) {
  enum { MOST = 2 };
  static int number;
  struct tb_row rows[MOST];
  struct tb_submission s = {.started = started,
                            .commit = commit,
                            .machines = {"m"},
                            .n_machines = 1,
                            .n_rows = (size_t)count,
                            .rows = rows,
                            .packed = ""};
  number++;
  memcpy(s.key, &number, sizeof number);
  for (int i = 0; i < count; i++)
    rows[i] = (struct tb_row){.name = "c", .position = i, .outcome = outcomes[i]};
  assert_int_equal(tb_submission_apply(&s.write, &f->store), TB_WRITTEN_STORED);
  assert_true(tb_store_flush_group(&f->store));
}

struct told {
  int64_t started;
  int outcome;
};

/* Since when the newest one's outcome holds, of runs in the order that they began in. */
static int64_t since(const struct told *runs, int count) {
  int first = count - 1;
  while (first > 0 && runs[first - 1].outcome == runs[count - 1].outcome) first--;
  return runs[first].started;
}

/* Behind those that began no later. */
static void insert(struct told *runs, int count, struct told run) {
  int at = count;
  for (; at > 0 && runs[at - 1].started > run.started; at--) runs[at] = runs[at - 1];
  runs[at] = run;
}

/* Since when a case fails does not depend on when its runs came: a spool may be sent late. */
static void test_any_order(void **state) {
  enum { ROUNDS = 300, RUNS = 14, SECONDS = 9, OUTCOMES = 3 };
  struct fixture *f = *state;
  unsigned random = 7;
  for (int round = 0; round < ROUNDS; round++) {
    struct told runs[2 * RUNS];
    int count = 0;
    for (int i = 0; i < RUNS; i++) {
      int outcomes[2];
      const int rows = 1 + ((random = random * 1103515245 + 12345) >> 16) % 2;
      const int64_t started =
          1000 * (int64_t)((random = random * 1103515245 + 12345) >> 16) % (SECONDS * 1000);
      for (int k = 0; k < rows; k++) {
        outcomes[k] = (int)((random = random * 1103515245 + 12345) >> 16) % OUTCOMES;
        insert(runs, count++, (struct told){started, outcomes[k]});
      }
      arrive(f, started, "x", outcomes, rows);
      const double expected = (double)since(runs, count),
                   found = number_of(f->store.db, "SELECT outcome_started FROM series");
      if (found != expected)
        fail_msg("round %d, run %d: since %g, and it is since %g", round, i, found, expected);
      assert_true(number_of(f->store.db, "SELECT latest_outcome FROM series") == runs[count - 1].outcome);
    }
    assert_int_equal(sqlite3_exec(f->store.db,
                                  "DELETE FROM points; DELETE FROM documents; DELETE FROM series", NULL, NULL,
                                  NULL),
                     SQLITE_OK);
    tb_store_forget(&f->store);
  }
}

/* Beside the time that a case fails since stands the commit of that run, not that of the newest one; none
 * where that run is gone. */
static void test_who_broke_it(void **state) {
  static const int right = TB_OUTCOME_OK, wrong = TB_OUTCOME_CRASHED;
  struct fixture *f = *state;
  arrive(f, 1000, "good", &right, 1);
  arrive(f, 4000, "newest", &wrong, 1);
  arrive(f, 2000, "culprit", &wrong, 1);
  arrive(f, 2000, "beside", &wrong, 1);
  overview_has(f, "/api/v1/overview",
               "\"latest_ms\":4000,\"commit\":\"newest\",\"since_ms\":2000,\"since_commit\":\"culprit\"}");
  overview_has(f, "/", "<code>culprit</code>");
  assert_int_equal(sqlite3_exec(f->store.db, "DELETE FROM points WHERE started < 3000", NULL, NULL, NULL),
                   SQLITE_OK);
  overview_has(f, "/api/v1/overview", "\"commit\":\"newest\",\"since_ms\":2000,\"since_commit\":null}");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_open_regressions, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_commits, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_not_reached, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_any_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_who_broke_it, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
