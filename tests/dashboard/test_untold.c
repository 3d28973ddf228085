/* What the dashboard keeps and tells of cases that are not right, that are measured no longer, or of which a
 * document has several machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dashboard/api/lists.h"
#include "dashboard/pages/html.h"
#include "tests/dashboard/answering.h"
#include "tests/dashboard/sql.h"

enum {
  DAY_S = 24 * 3600,
  LATER = 40 * DAY_S /* number of a document that is so much newer than the first one */
};

static const char outcome_ok[] = "\"outcome\":\"ok\",\"error\":null";

/* A copy of a text with one part of it replaced, each time that it is there; free() it. */
static char *with(const char *text, const char *what, const char *instead) {
  char *made = malloc(strlen(text) * 2 + DOCUMENT_CASE), *to = made;
  assert_non_null(made);
  assert_non_null(strstr(text, what));
  for (const char *at; (at = strstr(text, what)); text = at + strlen(what))
    to += sprintf(to, "%.*s%s", (int)(at - text), text, instead);
  strcpy(to, text);
  return made;
}

/* Document `number`, of another commit, with all of its cases failed in that way ("ok": none). */
static void store_failed(struct fixture *f, long long number, int cases, const char *commit,
                         const char *outcome) {
  char *text = malloc(DOCUMENT_HEAD + (size_t)cases * DOCUMENT_CASE), old[64], named[64], became[64];
  assert_non_null(text);
  document_write(text, number, cases);
  snprintf(old, sizeof old, "\"commit\":\"commit%lld\"", number / 1000);
  snprintf(named, sizeof named, "\"commit\":\"%s\"", commit);
  snprintf(became, sizeof became, "\"outcome\":\"%s\",\"error\":%s", outcome,
           strcmp(outcome, "ok") ? "\"why\"" : "null");
  char *made = with(text, old, named), *failed = with(made, outcome_ok, became);
  assert_string_equal(store(f, failed), "");
  free(text), free(made), free(failed);
}

static bool answer_has(struct fixture *f, const char *path, const char *text) {
  struct tb_query request;
  const bool found = strstr(answer_of(f, path, &request), text) != NULL;
  end(&request);
  return found;
}

static const char kept[] = "SELECT "
#define TB_FIELD(path, member, shape, unit, better, metric, column, ...) column
#define COLUMN(place, name, meaning)                                     "count(" #name ") + "
#define NONE
#include "results/fields.def"
                           "count(value) FROM points WHERE outcome <> 0";

/* The speed of what is wrong is none: in no table, answer or page, and nothing is found out from it. */
static void test_no_figures(void **state) {
  static const char name[] = "load/case0/inductor/default/cpu/f32/b8/machine/t2";
  struct fixture *f = *state;
  store_failed(f, 0, 1, "right", "ok");
  store_failed(f, 500, 1, "slip", "wrong");
  assert_true(number_of(f->store.db, kept) == 0);
  assert_true(number_of(f->store.db, "SELECT count(steady) FROM points") == 1);
  assert_true(number_of(f->store.db,
                        "SELECT count(*) FROM series WHERE coalesce(latest_steady, latest_speedup, "
                        "latest_lo, latest_hi, latest_cold) IS NULL AND latest_outcome = 1") == 1);
  sqlite3_stmt *values = tb_store_get(&f->store, TB_SQL_NEWEST_VALUES);
  int n = 0;
  sqlite3_bind_int(values, 1, 1);
  sqlite3_bind_int(values, 2, 100);
  for (; tb_store_step(&f->store, values); n++)
    assert_true(sqlite3_column_int64(values, 0) == DOCUMENT_FIRST_S * 1000LL);
  tb_store_done(values);
  assert_int_equal(n, 1);
  arguments[0].name = "case", arguments[0].value = name;
  assert_true(answer_has(f, "/api/v1/latest",
                         "\"outcome\":\"wrong\",\"steady_ns\":null,\"speedup\":null,\"speedup_lo\":null,"
                         "\"speedup_hi\":null,\"cold_ns\":null"));
  assert_true(answer_has(f, "/api/v1/series",
                         "\"commit\":\"slip\",\"outcome\":\"wrong\",\"probe\":0,\"value\":null"));
  assert_true(answer_has(f, "/case", "The newest run, commit <code>slip</code>"));
  assert_true(answer_has(f, "/case", "a case that is not right has none"));
  assert_false(answer_has(f, "/case", "Cold and warm"));
  assert_true(answer_has(f, "/case", "limit=10000")); /* the whole history, not what a chart shows of it */
}

/* A comparison begins with what fails on head alone, and has no times of it. */
static void test_compared(void **state) {
  struct fixture *f = *state;
  char *text = malloc(DOCUMENT_HEAD + 3 * DOCUMENT_CASE);
  assert_non_null(text);
  store_failed(f, 0, 3, "before", "ok");
  document_write(text, 500, 3);
  char *named = with(text, "\"commit\":\"commit0\"", "\"commit\":\"after\""),
       *last = strstr(named, "load/case2/");
  char *outcome = last ? strstr(last, outcome_ok) : NULL;
  assert_non_null(outcome);
  char *failed = with(outcome, outcome_ok, "\"outcome\":\"wrong\",\"error\":\"why\""),
       *whole = malloc(strlen(named) + strlen(failed) + 1);
  assert_non_null(whole);
  sprintf(whole, "%.*s%s", (int)(outcome - named), named, failed);
  assert_string_equal(store(f, whole), "");
  arguments[0].name = "base", arguments[0].value = "before";
  arguments[1].name = "head", arguments[1].value = "after";
  struct tb_query request;
  const char *page = answer_of(f, "/compare", &request), *first = strstr(page, "<td class=name>");
  assert_non_null(first);
  assert_int_equal(strncmp(strstr(first, "\">") + 2, "load/case2/", strlen("load/case2/")), 0);
  assert_non_null(strstr(page, "<span class=\"mark slower\">head: wrong</span>"));
  end(&request);
  assert_true(answer_has(f, "/api/v1/compare", "\"head_ns\":null"));
  arguments[2].name = "format", arguments[2].value = "csv";
  assert_true(answer_has(f, "/api/v1/compare", ",,ok,wrong\n"));
  free(text), free(named), free(failed), free(whole);
}

/* What failed last for the first time comes first; what is measured no longer is counted, and hides
 * nothing. */
static void test_failing_now(void **state) {
  struct fixture *f = *state;
  struct tb_query request;
  store_failed(f, 0, 120, "old", "wrong");
  store_failed(f, LATER, 2, "fails since", "timeout");   /* series 0 and 1: in the old one too */
  store_failed(f, LATER + 1, 1, "tonight", "ok");        /* another series */
  store_failed(f, LATER + 501, 1, "tonight", "crashed"); /* the same one */
  assert_true(number_of(f->store.db, "SELECT outcome_started / 1000 FROM series WHERE latest_outcome = 2") ==
              DOCUMENT_FIRST_S + LATER + 501);
  const char *text = answer_of(f, "/api/v1/overview", &request), *failed = strstr(text, "\"failed\":[");
  assert_non_null(failed);
  assert_non_null(strstr(text, "\"measured_no_longer\":{\"open_regressions\":0,\"failing\":118}"));
  const char *crashed = strstr(failed, "crashed"), *timeout = strstr(failed, "timeout"),
             *wrong = strstr(failed, "wrong");
  const char *rows_end = strstr(failed, "]");
  assert_true(crashed && timeout && crashed < timeout && timeout < rows_end && (!wrong || wrong > rows_end));
  end(&request);
  assert_true(
      answer_has(f, "/", "Besides, 118 cases failed when last measured, and were not measured for 30 days."));
}

/* Also a step to slower of a case that is gone is none that is open the longest. */
static void test_open_now(void **state) {
  struct fixture *f = *state;
  store_failed(f, 0, 1, "old", "ok");
  store_failed(f, LATER + 1, 1, "new", "ok");
  assert_int_equal(sqlite3_exec(f->store.db,
                                "INSERT INTO changes SELECT id, latest_started, latest_commit, 1, 1.0, 1.1, "
                                "0.001, NULL, NULL FROM series",
                                NULL, NULL, NULL),
                   SQLITE_OK);
  assert_true(answer_has(f, "/api/v1/overview", "\"open_regressions\":{\"count\":1,"));
  assert_true(
      answer_has(f, "/api/v1/overview", "\"measured_no_longer\":{\"open_regressions\":1,\"failing\":0}"));
  assert_true(answer_has(f, "/", "<b>1</b> <a href=\"/regressions?state=open\">open regression</a>"));
  assert_true(answer_has(f, "/",
                         "Besides, there is <a href=\"/regressions?state=open\">1 open</a> of cases that are "
                         "measured no longer."));
  sqlite3_stmt *rows = tb_longest_open_rows(&f->store, 5);
  assert_true(tb_store_step(&f->store, rows));
  assert_string_equal(tb_column_text(rows, 3), "new");
  assert_false(tb_store_step(&f->store, rows));
  tb_store_done(rows);
}

/* By when they were measured, whenever their documents came, and once, however many there are. */
static void test_newest_commits(void **state) {
  struct fixture *f = *state;
  store_failed(f, 3000, 1, "b", "ok");
  store_failed(f, 4000, 1, "c", "ok");
  store_failed(f, 1000, 1, "a", "ok");
  store_failed(f, 2000, 1, "c", "ok");
  store_failed(f, 5000, 1, "b", "ok");
  assert_true(answer_has(f, "/api/v1/commits",
                         "{\"commits\":[\n{\"name\":\"b\"},\n{\"name\":\"c\"},\n{\"name\":\"a\"}]}"));
  assert_true(answer_has(f, "/compare", "<option value=\"b\"><option value=\"c\"><option value=\"a\">"));
}

/* Of a document of two machines each has its own cases. */
static void test_two_machines(void **state) {
  struct fixture *f = *state;
  char text[DOCUMENT_HEAD + 2 * DOCUMENT_CASE];
  for (int i = 0; i < 2; i++) {
    document_write(text, i * 1000LL * DOCUMENT_SERIES, 2);
    const char *from = strstr(text, "{\"host\":"), *to = strstr(text, "],\"cases\"");
    char environments[2 * DOCUMENT_HEAD], one[DOCUMENT_HEAD], *second;
    snprintf(one, sizeof one, "%.*s", (int)(to - from), from);
    second = with(one, "\"h1\"", "\"h2\"");
    snprintf(environments, sizeof environments, "%s,%s", one, second);
    char *planned = with(text, "\"planned\":0", "\"planned\":2"), *made = with(planned, one, environments),
         *last = strrchr(made, '['), *env = strstr(made, "load/case1/");
    assert_true(last && env);
    strstr(env, "\"env\":0")[strlen("\"env\":")] = '1';
    assert_string_equal(store(f, made), "");
    free(made), free(second), free(planned);
  }
  arguments[0].name = "base", arguments[0].value = "commit0";
  arguments[1].name = "head", arguments[1].value = "commit500";
  for (int i = 0; i < 2; i++) {
    arguments[2].name = "machine", arguments[2].value = i ? "h2 · cpu" : "h1 · cpu";
    assert_true(answer_has(f, "/api/v1/compare", "load/case1/") == (i == 1));
    assert_true(answer_has(f, "/api/v1/compare", "load/case0/") == (i == 0));
    assert_false(
        answer_has(f, "/api/v1/compare", "planned 1 more case")); /* the other machine's is not missing */
  }
  arguments[2].name = NULL;
  assert_true(answer_has(f, "/api/v1/compare", "load/case0/") &&
              answer_has(f, "/api/v1/compare", "load/case1/"));
}

/* Each result that has such cases is in the list, not the newest one alone; and a row leads to the machine
 * that it is of. */
static void test_ablations(void **state) {
  enum { RESULTS = 25, SHOWN = 20 };
  struct fixture *f = *state;
  char text[DOCUMENT_HEAD + 2 * DOCUMENT_CASE];
  for (int i = 0; i < RESULTS; i++) {
    document_write(text, i * (long long)DOCUMENT_SERIES, 2);
    char *made = with(text, "load/case1/inductor/default/cpu/f32/b8/machine/t2",
                      "load/case0/inductor/default/cpu/f32/b8/machine/t2;opt.x=off"),
         *env = strstr(made, ";opt.x=off");
    char *rest = with(env, "\"switches\":{}", "\"switches\":{\"opt.x\":\"off\"}"),
         *whole = malloc(strlen(made) + strlen(rest) + 1);
    assert_non_null(whole);
    sprintf(whole, "%.*s%s", (int)(env - made), made, rest);
    assert_string_equal(store(f, whole), "");
    free(made), free(rest), free(whole);
  }
  sqlite3_stmt *rows = tb_store_get(&f->store, TB_SQL_ABLATIONS);
  int n = 0;
  sqlite3_bind_int(rows, 1, SHOWN);
  for (; tb_store_step(&f->store, rows); n++)
    assert_true(sqlite3_column_int64(rows, 1) / 1000 ==
                DOCUMENT_FIRST_S + (RESULTS - 1 - n) * (long long)DOCUMENT_SERIES);
  tb_store_done(rows);
  assert_int_equal(n, SHOWN);
  assert_true(answer_has(f, "/ablation", "opt.x%3Doff&amp;machine=h1%20%C2%B7%20cpu\""));
}

/* As on the console: whole calls, or a word. */
static void test_break_even(void **state) {
  struct fixture *f = *state;
  char text[DOCUMENT_HEAD + DOCUMENT_CASE];
  arguments[0].name = "case", arguments[0].value = "load/case0/inductor/default/cpu/f32/b8/machine/t2";
  document_write(text, 0, 1);
  assert_string_equal(store(f, text), "");
  assert_true(answer_has(f, "/case", "Compiling pays off after: unsure."));
  document_write(text, 500, 1);
  char *made = with(text, "\"pays_off_after_calls\":null,\"pays_off_lo\":null,\"pays_off_hi\":null",
                    "\"pays_off_after_calls\":2.95,\"pays_off_lo\":2.1,\"pays_off_hi\":3.2");
  assert_string_equal(store(f, made), "");
  assert_true(answer_has(f, "/case", "Compiling pays off after: 3 calls [3, 4]."));
  free(made);
}

/* Three digits of any number, and never 0 of what is more. */
static void test_numbers(void **state) {
  static const struct {
    double ns;
    const char *text;
  } rows[] = {{0.004, "0.004 ns"}, {0, "0.00 ns"},   {1e300, "1e+291 s"},
              {999e6, "999 ms"},   {0.5, "0.50 ns"}, {-5e-7, "-5e-07 ns"}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct tc_strbuf out;
    tc_strbuf_init(&out, tc_alloc_system());
    tb_web_ns(&out, rows[i].ns);
    assert_string_equal(tc_strbuf_text(&out), rows[i].text);
    tc_strbuf_free(&out);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_no_figures), TEST(test_compared),       TEST(test_failing_now),
      TEST(test_open_now),   TEST(test_newest_commits), TEST(test_two_machines),
      TEST(test_ablations),  TEST(test_break_even),     TEST(test_numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
