/* What the first page says, and what there is to choose from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/answering.h"

static void open_step(struct fixture *f, int series, int64_t started, const char *closed) {
  char sql[256];
  snprintf(sql, sizeof sql, "INSERT INTO changes VALUES(%d, %lld, (SELECT id FROM commits), 1, 1.0, 1.1, 0.001, %s, NULL)", series, (long long)started, closed);
  assert_int_equal(sqlite3_exec(f->store.db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void overview_has(struct fixture *f, const char *path, const char *text) {
  struct tb_query request;
  const char *answer = answer_of(f, path, &request);
  if (!strstr(answer, text)) fail_msg("%s: there is no %s in %s", path, text, answer);
  end(&request);
}

/* A case that became slower long ago is no news, and is seen on the first page all the same until something takes it back. */
static void test_open_regressions(void **state) {
  static const int64_t hour_ms = 3600LL * 1000, day_ms = 24 * 3600LL * 1000;
  struct fixture *f = *state;
  char oldest[64];
  const int64_t now = tb_now_ms();
  store_document(f, 0, 5);
  overview_has(f, "/", "<b>0</b> <a href=\"/regressions?state=open\">open regressions</a>");
  overview_has(f, "/", "No step to slower is open");
  overview_has(f, "/api/v1/overview", "\"open_regressions\":{\"count\":0,\"within_7_days\":0,\"within_30_days\":0,\"oldest_ms\":null}");
  open_step(f, 1, now - 143 * day_ms - hour_ms, "NULL");
  overview_has(f, "/", "<b>1</b> <a href=\"/regressions?state=open\">open regression</a>");
  open_step(f, 2, now - 7 * day_ms - hour_ms, "NULL");
  open_step(f, 3, now - 2 * hour_ms, "NULL");
  open_step(f, 4, now - 300 * day_ms, "5"); /* it was taken back */
  overview_has(f, "/", "<b>3</b> <a href=\"/regressions?state=open\">open regressions</a>");
  overview_has(f, "/", "Of <a href=\"/regressions?state=open\">3 open regressions</a> 1 began less than 7 days ago, 1 before that and less than 30 days ago, 1 earlier; the oldest one is open for 143 days.");
  overview_has(f, "/", "+10.0%<td class=figure>143 days<td>");
  overview_has(f, "/", "<td class=figure>less than a day<td>");
  snprintf(oldest, sizeof oldest, "\"within_30_days\":2,\"oldest_ms\":%lld}", (long long)(now - 143 * day_ms - hour_ms));
  overview_has(f, "/api/v1/overview", oldest);
}

/* A name that nothing has is not there to choose, also in a database that has some from before they went with what had them. */
static void test_commits(void **state) {
  struct fixture *f = *state;
  struct tb_query request;
  store_document(f, 0, 1);
  assert_int_equal(sqlite3_exec(f->store.db, "INSERT INTO commits(name) VALUES('left over')", NULL, NULL, NULL), SQLITE_OK);
  assert_string_equal(answer_of(f, "/api/v1/commits", &request), "{\"commits\":[\n{\"name\":\"commit0\"}]}\n");
  end(&request);
  assert_null(strstr(answer_of(f, "/compare", &request), "left over"));
  end(&request);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_open_regressions, set_up, tear_down), cmocka_unit_test_setup_teardown(test_commits, set_up, tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
