/* What the dashboard answers, without a network: queries whose database fails on the way, long lists,
 * comparisons of many results, and what is taken of a document. libmicrohttpd's part, the arguments of a
 * query, is played by the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dashboard/api/compare.h"
#include "dashboard/api/lists.h"
#include "dashboard/pages/html.h"
#include "dashboard/server/answer.h"
#include "dashboard/store/digest.h"
#include "harness/verdict/history.h"
#include "results/outcome.h"
#include "tests/dashboard/answering.h"
#include "tests/dashboard/sql.h"

enum { COPIES = 4200, RATIOS = 600 };

/* A step of the database that fails: the n-th since the count was set. */
static long steps, fails_at;
static int count_step(void *self) { return (void)self, ++steps == fails_at; }

/* Whatever step fails, the answer does not pass for a whole one. */
static void check_route(struct fixture *f, const struct tb_route *route) {
  enum { TRIES = 60 };
  struct tb_query request;
  static char key[2 * TC_SHA256_BYTES + 1];
  snprintf(key, sizeof key, "%s", arguments[3].value);
  fails_at = 0;
  assert_int_equal(sqlite3_exec(f->store.db, "BEGIN", NULL, NULL, NULL), SQLITE_OK);
  steps = 0;
  assert_int_equal(sqlite3_exec(f->store.db, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
  const long last = steps; /* those behind the answer */
  long total = 0;
  for (int i = -1; i <= TRIES;
       i++) { /* the first one fills what is kept between queries, the next one counts */
    begin(&request);
    request.route = route;
    request.rest = key;
    steps = 0;
    fails_at = i > 0 ? 1 + (total - last - 1) * (i - 1) / TRIES : 0;
    tb_query_read(&request, &f->store);
    const char *text = tc_strbuf_text(&request.answer.body);
    assert_non_null(text);
    if (i <= 0) {
      total = steps;
      assert_true(total > last);
      if (strstr(route->path, "ablation"))
        assert_true(request.answer.status == MHD_HTTP_OK || request.answer.status == MHD_HTTP_NOT_FOUND);
      else if (request.answer.status != MHD_HTTP_OK)
        fail_msg("%s: %s", route->path, text);
    } else if (request.answer.status != MHD_HTTP_INTERNAL_SERVER_ERROR) {
      fail_msg("%s, step %ld of %ld: %u %.200s", route->path, fails_at, total, request.answer.status, text);
    } else {
      assert_non_null(strstr(text, "interrupted"));
      assert_true(!strcmp(request.answer.type, "application/json") ||
                  strstr(text, "<h1>This request failed</h1>"));
    }
    end(&request);
  }
}

static void test_failures(void **state) {
  struct fixture *f = *state;
  char text[DOCUMENT_HEAD + 2 * DOCUMENT_CASE], key[2 * TC_SHA256_BYTES + 1];
  unsigned char digest[TC_SHA256_BYTES];
  store_document(f, 0, 3);
  store_document(f, 1000, 3);
  document_write(text, 2000, 2);
  assert_string_equal(store(f, text), "");
  assert_true(tb_digest(text, strlen(text), digest));
  for (int i = 0; i < TC_SHA256_BYTES; i++) sprintf(key + 2 * i, "%02x", digest[i]);
  arguments[0].name = "case", arguments[0].value = "load/case0/inductor/default/cpu/f32/b8/machine/t2";
  arguments[1].name = "base", arguments[1].value = "commit0";
  arguments[2].name = "head", arguments[2].value = "commit1";
  arguments[3].name = "no such argument", arguments[3].value = key;
  sqlite3_progress_handler(f->store.db, 1, count_step, NULL);
  for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
    if ((routes[i].way != TB_WAY_READ && routes[i].way != TB_WAY_COMPARE) ||
        !strcmp(routes[i].path, "/metrics") || !strcmp(routes[i].path, "/api/v1/figures"))
      continue; /* needs a server; needs no database */
    arguments[3].name = !strcmp(routes[i].path, "/result") ? "key" : "no such argument";
    check_route(f, &routes[i]);
  }
  arguments[3].name = "no such argument";
  arguments[1].name = "format", arguments[1].value = "csv";
  for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
    if (!strcmp(routes[i].path, "/api/v1/series")) check_route(f, &routes[i]);
  sqlite3_progress_handler(f->store.db, 0, NULL, NULL);
}

/* Where memory or room is out it is the server that comes too short, and the client is to come again. */
static void test_room(void **state) {
  struct fixture *f = *state;
  struct tb_query request;
  begin(&request);
  f->store.failed = SQLITE_FULL;
  tb_answer_store_failed(&request, &f->store);
  assert_int_equal(request.answer.status, MHD_HTTP_SERVICE_UNAVAILABLE);
  assert_true(request.answer.retry_s > 0);
  end(&request);
}

/* A page says what is wrong as it was told, not as JSON has it. */
static void test_errors(void **state) {
  struct tb_query request;
  (void)state;
  begin(&request);
  tb_answer_error(&request, MHD_HTTP_BAD_REQUEST, "<a> & \"b\"");
  tb_web_error(&request);
  assert_non_null(
      strstr(tc_strbuf_text(&request.answer.body), "<p class=problem>&lt;a&gt; &amp; &quot;b&quot;</p>"));
  assert_int_equal(request.answer.status, MHD_HTTP_BAD_REQUEST);
  end(&request);
}

/* --- lists --- */

/* What is not built does not hide what fails, and a list that is cut off says how long it is. */
static void test_failed(void **state) {
  struct fixture *f = *state;
  struct tb_query request;
  char sql[128];
  store_document(f, 0, 250);
  snprintf(sql, sizeof sql,
           "UPDATE series SET latest_outcome = CASE WHEN id <= 120 THEN %d WHEN id <= 240 THEN %d ELSE 0 END",
           TB_OUTCOME_UNSUPPORTED, TB_OUTCOME_ERROR);
  assert_int_equal(sqlite3_exec(f->store.db, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_stmt *rows = tb_failed_rows(&f->store, 10000);
  int n = 0;
  for (; tb_store_step(&f->store, rows); n++) assert_int_equal(sqlite3_column_int(rows, 2), TB_OUTCOME_ERROR);
  tb_store_done(rows);
  assert_int_equal(n, 120);
  begin(&request);
  request.answer.status = MHD_HTTP_OK;
  tb_page_overview(&request, &f->store);
  const char *text = tc_strbuf_text(&request.answer.body);
  assert_non_null(strstr(text, "first 100 of 120 that fail"));
  assert_non_null(strstr(text, "120 of all cases: their backend, mode or device is not built"));
  end(&request);
}

/* --- a case over time --- */

static const char first_case[] = "load/case0/inductor/default/cpu/f32/b8/machine/t2";

static void set_argument(int at, const char *name, const char *value) {
  arguments[at].name = name, arguments[at].value = value;
}

/* A count is told to its last digit, in CSV and in JSON. */
static void test_digits(void **state) {
  static const struct {
    const char *sql, *told;
  } counts[] = {{"30912345678", "30912345678"},
                {"9007199254740991", "9007199254740991"},
                {"1234567890.3", "1234567890.3"},
                {"0.1", "0.1"}};
  struct fixture *f = *state;
  struct tb_query request;
  char sql[128], expected[128];
  store_document(f, 0, 1);
  set_argument(0, "case", first_case);
  set_argument(1, "figures", "instructions");
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    snprintf(sql, sizeof sql, "UPDATE points SET instructions = %s, value = %s", counts[i].sql,
             counts[i].sql);
    assert_int_equal(sqlite3_exec(f->store.db, sql, NULL, NULL, NULL), SQLITE_OK);
    set_argument(2, "format", "csv");
    snprintf(expected, sizeof expected, ",ok,0,%s,", counts[i].told);
    assert_non_null(strstr(answer_of(f, "/api/v1/series", &request), expected));
    snprintf(expected, sizeof expected, ",%s\n", counts[i].told);
    assert_non_null(strstr(tc_strbuf_text(&request.answer.body), expected));
    end(&request);
    set_argument(2, "format", "json");
    snprintf(expected, sizeof expected, "\"instructions\":%s}", counts[i].told);
    assert_non_null(strstr(answer_of(f, "/api/v1/series", &request), expected));
    end(&request);
  }
}

/* What a query sent may be any bytes; the answer is JSON all the same. */
static void test_no_utf8(void **state) {
  struct fixture *f = *state;
  struct tb_query request;
  store_document(f, 0, 1);
  set_argument(0, "case", first_case);
  set_argument(1, "figures", "\xff\xfe\xc3");
  ask_route(f, "/api/v1/series", &request);
  assert_int_equal(request.answer.status, MHD_HTTP_BAD_REQUEST);
  assert_string_equal(tc_strbuf_text(&request.answer.body),
                      "{\"error\":\"figures: there is no \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD; "
                      "/api/v1/figures lists them\"}\n");
  end(&request);
  begin(&request);
  tb_json_put_text(&request.answer.body, "h1 · a<b\n\xF0\x9F\x92\xA9");
  assert_string_equal(tc_strbuf_text(&request.answer.body), "\"h1 · a\\u003cb\\u000a\xF0\x9F\x92\xA9\"");
  end(&request);
}

enum { RUNS = 130 };

static struct {
  char started[32], document[32], position[32];
} go_on;

static void go_on_before(double started, double document, double position) {
  snprintf(go_on.started, sizeof go_on.started, "%.0f", started);
  snprintf(go_on.document, sizeof go_on.document, "%.0f", document);
  snprintf(go_on.position, sizeof go_on.position, "%.0f", position);
  set_argument(2, "before", go_on.started);
  set_argument(3, "before_document", go_on.document);
  set_argument(4, "before_position", go_on.position);
}

static int count_of(const char *text, const char *what) {
  int n = 0;
  for (; (text = strstr(text, what)); text++) n++;
  return n;
}

/* Points of a page of the API, whose oldest one comes first. */
static int read_points(struct fixture *f) {
  struct tb_query request;
  cJSON *document = cJSON_Parse(answer_of(f, "/api/v1/series", &request));
  const cJSON *points = cJSON_GetObjectItem(document, "points"), *oldest = cJSON_GetArrayItem(points, 0);
  const int count = cJSON_GetArraySize(points);
  if (count)
    go_on_before(cJSON_GetObjectItem(oldest, "started_ms")->valuedouble,
                 cJSON_GetObjectItem(oldest, "document")->valuedouble,
                 cJSON_GetObjectItem(oldest, "position")->valuedouble);
  cJSON_Delete(document);
  end(&request);
  return count;
}

/* Runs of a page of the history; *more: it has a link to older ones. */
static int read_runs(struct fixture *f, bool *more) {
  struct tb_query request;
  const char *text = answer_of(f, "/case", &request), *link = strstr(text, "rel=next");
  const int count = count_of(text, ">result</a>");
  double started, document, position;
  *more = link;
  if (link) {
    assert_non_null(link = strstr(link, "before="));
    assert_int_equal(sscanf(link, "before=%lf&amp;before_document=%lf&amp;before_position=%lf", &started,
                            &document, &position),
                     3);
    go_on_before(started, document, position);
  }
  end(&request);
  return count;
}

/* Runs that began in the same second, and more of them than fit on a page: each is on one page. */
static void test_same_second(void **state) {
  struct fixture *f = *state;
  char text[DOCUMENT_HEAD + DOCUMENT_CASE], seed[32];
  bool more = true;
  int runs = 0, points = 0;
  document_write(text, 0, 1);
  for (int i = 0; i < RUNS; i++) {
    snprintf(seed, sizeof seed, "\"seed\":%d", i);
    char *made = with_first(text, "\"seed\":0", seed);
    assert_string_equal(store(f, made), "");
    free(made);
  }
  set_argument(0, "case", first_case);
  for (int pages = 0; more && pages < RUNS; pages++) runs += read_runs(f, &more);
  assert_int_equal(runs, RUNS);
  for (int i = 2; i < ARGUMENTS; i++) set_argument(i, NULL, NULL);
  set_argument(1, "limit", "40");
  for (int count = 1; count && points <= RUNS; points += count) count = read_points(f);
  assert_int_equal(points, RUNS);
  set_argument(3, NULL, NULL), set_argument(4, NULL, NULL); /* a time alone: what began before it */
  assert_int_equal(read_points(f), 0);
}

/* --- comparisons --- */

static void test_many_documents(void **state) {
  struct fixture *f = *state;
  struct tb_query request;
  char text[DOCUMENT_HEAD + DOCUMENT_CASE];
  int n = 0;
  for (int i = 0; i < 200; i++) store_document(f, i % 2 * 1000 + i / 2, 1);
  arguments[0].name = "base", arguments[0].value = "commit0";
  arguments[1].name = "head", arguments[1].value = "commit1";
  begin(&request);
  cJSON *document = tb_compare_query(&request, &f->store);
  if (!document) fail_msg("%s", tc_strbuf_text(&request.answer.body));
  const cJSON *one;
  cJSON_ArrayForEach(one, cJSON_GetObjectItem(document, "cases")) {
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(one, "presence")), "both");
    n++;
  }
  assert_int_equal(n, 100);
  cJSON_Delete(document);
  end(&request);

  for (int i = 0; i < COPIES; i++) { /* more than are compared: that is said, not half of it done */
    document_write(text, 5000 + i, 1);
    char old[64], *made;
    snprintf(old, sizeof old, "\"commit\":\"commit%d\"", (5000 + i) / 1000);
    made = with_first(text, old, "\"commit\":\"many\"");
    assert_string_equal(store(f, made), "");
    free(made);
  }
  arguments[1].value = "many";
  begin(&request);
  assert_null(tb_compare_query(&request, &f->store));
  assert_int_equal(request.answer.status, MHD_HTTP_BAD_REQUEST);
  assert_non_null(strstr(tc_strbuf_text(&request.answer.body), "too much for one comparison"));
  end(&request);
}

/* --- what is taken of a document --- */

/* The value of a point is the one that the gate judges by, however many replicates there are. */
static void test_value(void **state) {
  struct fixture *f = *state;
  char text[DOCUMENT_HEAD + DOCUMENT_CASE], calibration[RATIOS * 16 + 512];
  bool calibrated;
  size_t at = (size_t)sprintf(
      calibration,
      "\"probe\":{\"median_ns\":1000,\"mad_ns\":1,\"p05_ns\":990,\"p95_ns\":1010,\"replicates\":[{"
      "\"median_ns\":1000,\"samples_ns\":[1000]}],\"version\":1,\"log_ratios\":[");
  for (int i = 0; i < RATIOS; i++)
    at += (size_t)sprintf(calibration + at, "%s%.4f", i ? "," : "", i < RATIOS / 3 ? 0.5 : 1.0 + i * 1e-4);
  sprintf(calibration + at, "]}");
  document_write(text, 1, 1);
  char *made = with_first(text, "\"probe\":null", calibration);
  assert_string_equal(store(f, made), "");
  cJSON *document = cJSON_Parse(made);
  const double expected =
      tb_history_value(cJSON_GetArrayItem(cJSON_GetObjectItem(document, "cases"), 0), &calibrated);
  assert_true(calibrated);
  assert_true(fabs(number_of(f->store.db, "SELECT value FROM points") / expected - 1) < 1e-12);
  assert_true(number_of(f->store.db, "SELECT probe FROM points") == 1);
  cJSON_Delete(document);
  free(made);
}

/* What says two things is not believed, and not kept. */
static void test_disagreement(void **state) {
  static const char wrong[] = "\"correctness\":{\"max_error\":1,\"bound\":0.1,\"compared\":1,\"ok\":false,"
                              "\"against\":\"f64\",\"detail\":null}";
  struct fixture *f = *state;
  char text[DOCUMENT_HEAD + DOCUMENT_CASE];
  document_write(text, 0, 1);
  char *two_things = with_first(text, "\"correctness\":null", wrong);
  char *told =
      with_first(two_things, "\"outcome\":\"ok\",\"error\":null", "\"outcome\":\"wrong\",\"error\":\"off\"");
  char *right = with_first(two_things, "\"ok\":false", "\"ok\":true");
  assert_non_null(strstr(store(f, two_things), "(correctness.ok)"));
  assert_true(number_of(f->store.db, "SELECT count(*) FROM documents") == 0);
  assert_string_equal(store(f, told), "");
  assert_string_equal(store(f, right), "");
  free(two_things), free(told), free(right);
}

/* A clock that goes far ahead would make its results the newest ones for long. */
static void test_started(void **state) {
  struct fixture *f = *state;
  char text[DOCUMENT_HEAD + DOCUMENT_CASE], now[32], started[64];
  document_write(text, 0, 1);
  tb_time_text(tb_now_ms() + 20 * 3600 * 1000LL, now, sizeof now);
  snprintf(started, sizeof started, "\"started\":\"%s\"", now);
  char *soon = with_first(text, "\"started\":\"2025-01-01T00:00:00Z\"", started),
       *late =
           with_first(text, "\"started\":\"2025-01-01T00:00:00Z\"", "\"started\":\"2999-01-01T00:00:00Z\"");
  assert_string_equal(store(f, soon), "");
  assert_non_null(strstr(store(f, late), "$.started: more than a day ahead"));
  free(soon);
  free(late);
}

/* Many environments of one machine are one machine. */
static void test_machines(void **state) {
  enum { SAME = 80 };
  struct fixture *f = *state;
  char text[DOCUMENT_HEAD + 2 * DOCUMENT_CASE], environment[DOCUMENT_HEAD],
      *all = calloc(SAME, DOCUMENT_HEAD);
  assert_non_null(all);
  document_write(text, 0, 2);
  const char *from = strstr(text, "{\"host\":"), *to = strstr(text, "],\"cases\"");
  assert_true(from && to);
  snprintf(environment, sizeof environment, "%.*s", (int)(to - from), from);
  for (int i = 0; i < SAME; i++) sprintf(all + strlen(all), "%s%s", i ? "," : "", environment);
  char *other = with_first(environment, "\"host\":\"h1\"", "\"host\":\"h2\"");
  strcat(strcat(all, ","), other);
  char *made = with_first(text, environment, all), *last = strstr(made, "\"env\":0");
  char *second = with_first(made, "\"env\":0", "\"env\":80");
  assert_non_null(last);
  assert_string_equal(store(f, second), "");
  assert_true(number_of(f->store.db, "SELECT count(*) FROM machines") == 2);
  assert_true(number_of(f->store.db, "SELECT count(*) FROM series s JOIN machines m ON m.id = s.machine "
                                     "WHERE m.name = 'h2 · cpu' AND s.name LIKE 'load/case0/%'") == 1);
  assert_true(
      number_of(
          f->store.db,
          "SELECT count(*) FROM series s JOIN machines m ON m.id = s.machine WHERE m.name = 'h1 · cpu'") ==
      1);
  free(all), free(other), free(made), free(second);
}

/* Each place among the columns is taken once, and a figure has one name, here and in what reporters write. */
static void test_figures(void **state) {
  int places[TB_FIGURE_COUNT] = {0};
  (void)state;
  for (int i = 0; i < tb_field_count(); i++) {
    const struct tb_field *field = tb_field_at(i);
    if (!field->column.name) continue;
    assert_in_range(field->column.place, 0, TB_FIGURE_COUNT - 1);
    assert_int_equal(places[field->column.place]++, 0);
    assert_ptr_equal(tb_figure_field((enum tb_figure)field->column.place), field);
    if (field->metric.name) assert_string_equal(field->column.name, field->metric.name);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_failures, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_room, set_up, tear_down),
      cmocka_unit_test(test_errors),
      cmocka_unit_test_setup_teardown(test_failed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_many_documents, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_value, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_started, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_machines, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_digits, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_no_utf8, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_same_second, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_disagreement, set_up, tear_down),
      cmocka_unit_test(test_figures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
