/* Parts of the server that need no network: limits, tokens, times, analysis, and what is stored of documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "dashboard/analysis.h"
#include "dashboard/auth.h"
#include "dashboard/digest.h"
#include "dashboard/intake.h"
#include "dashboard/limits.h"
#include "tests/unit/documents.h"

static struct sockaddr_in6 address_of(const char *text) {
  struct sockaddr_in6 address = {.sin6_family = AF_INET6};
  assert_int_equal(inet_pton(AF_INET6, text, &address.sin6_addr), 1);
  return address;
}

static bool take(struct tb_limits *limits, const char *address, double now, double cost, int *retry) {
  const struct sockaddr_in6 peer = address_of(address);
  return tb_limits_take(limits, (const struct sockaddr *)&peer, now, cost, retry);
}

static void test_limits(void **state) {
  static struct tb_limits limits;
  int retry;
  (void)state;
  tb_limits_open(&limits, 10);
  for (int i = 0; i < 10; i++) assert_true(take(&limits, "2001:db8::1", 0, 1, &retry));
  assert_false(take(&limits, "2001:db8::1", 0, 1, &retry));
  assert_int_equal(retry, 1);
  assert_false(take(&limits, "2001:db8::ffff:2", 0, 1, &retry)); /* the same /64 */
  assert_true(take(&limits, "2001:db8:0:1::1", 0, 1, &retry));
  assert_true(take(&limits, "2001:db8::1", 0.11, 1, &retry));
  assert_false(take(&limits, "2001:db8::1", 0.11, 1, &retry));
  assert_true(take(&limits, "2001:db8::1", 100, 10, &retry));
  assert_false(take(&limits, "2001:db8::1", 100, 1, &retry));
  for (int i = 0; i < 100000; i++) { /* more peers than places: memory is bounded, and each new one may begin */
    char text[64];
    snprintf(text, sizeof text, "2001:db9:%x:%x::1", i / 65536, i % 65536);
    assert_true(take(&limits, text, 101, 1, &retry));
  }
  tb_limits_close(&limits);
}

static void test_times(void **state) {
  static const struct { const char *text; int64_t ms; } cases[] = {{"1970-01-01T00:00:00Z", 0}, {"2026-11-20T14:02:11Z", 1795183331000}, {"2026-11-20T15:02:11+01:00", 1795183331000},
    {"2026-11-20T13:32:11.250-00:30", 1795183331250}};
  char text[32];
  int64_t ms;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_true(tb_time_parse(cases[i].text, &ms));
    assert_int_equal(ms, cases[i].ms);
  }
  tb_time_text(1795183331999, text, sizeof text);
  assert_string_equal(text, "2026-11-20T14:02:11Z");
  assert_false(tb_time_parse("soon", &ms));
}

/* Levels of 20 points each, with a little noise. */
static size_t levels(const double *level, size_t count, double *out) {
  enum { EACH = 20 };
  for (size_t i = 0; i < count * EACH; i++) out[i] = level[i / EACH] * (1 + 0.002 * (double)((i * 7) % 5));
  return count * EACH;
}

static void test_analysis(void **state) {
  static struct tb_analysis a;
  double values[TB_ANALYSIS_POINTS];
  (void)state;
  size_t n = levels((const double[]){100, 130, 100}, 3, values);
  assert_true(tb_analyse(values, n, &a));
  assert_int_equal(a.n_changes, 2);
  assert_int_equal(a.changes[0].at, 20);
  assert_int_equal(tb_analysis_closed_by(&a, 0), 1); /* the slower step was taken back */
  assert_int_equal(a.verdict, TB_VERDICT_SAME);      /* long ago */
  assert_true(a.score == 0);
  n = levels((const double[]){100, 130}, 2, values) - 10;
  assert_true(tb_analyse(values, n, &a));
  assert_int_equal(tb_analysis_closed_by(&a, 0), a.n_changes); /* open */
  assert_int_equal(a.basis, TB_BASIS_STEP);
  assert_int_equal(a.verdict, TB_VERDICT_SLOWER);
  assert_int_equal(a.moved, 20);
  assert_true(a.lo > 1.28 && a.hi < 1.32 && a.move > a.lo && a.move < a.hi);
  n = levels((const double[]){100}, 1, values);
  values[n - 1] = 80;
  assert_true(tb_analyse(values, n, &a));
  assert_int_equal(a.basis, TB_BASIS_POINT);
  assert_int_equal(a.verdict, TB_VERDICT_FASTER);
  assert_true(tb_analyse(values, 0, &a) && tb_analyse(values, 1, &a));
  assert_int_equal(a.verdict, TB_VERDICT_UNSURE);
}

/* The fast way gives what the plain one gives, at each length around the ends of blocks. */
static void test_digest(void **state) {
  unsigned char data[300], plain[TC_SHA256_BYTES], fast[TC_SHA256_BYTES];
  (void)state;
  if (!tb_digest_is_fast()) skip();
  for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 + 11);
  for (size_t n = 0; n <= sizeof data; n++) {
    tb_digest(false, data, n, plain);
    tb_digest(true, data, n, fast);
    assert_memory_equal(plain, fast, sizeof plain);
  }
}

struct fixture { struct tb_store store; struct tb_schema *schema; struct tb_intake *intake; };

static void set_up(struct fixture *f) {
  struct tc_error err;
  int64_t id;
  assert_int_equal(tb_store_open(&f->store, ":memory:", TB_STORE_WRITE, 1024, &err), TC_OK);
  f->schema = tb_schema_of_results(&err);
  assert_non_null(f->schema);
  assert_true(tb_store_add_dictionary(&f->store, "words", 5, &id));
  f->intake = tb_intake_new(f->schema, (struct tb_intake_limits){1 << 20, 1 << 16, 100}, "words", 5, id);
  assert_non_null(f->intake);
}

static void tear_down(struct fixture *f) {
  tb_intake_free(f->intake);
  tb_schema_free(f->schema);
  tb_store_close(&f->store);
}

static double column(struct fixture *f, const char *sql) {
  sqlite3_stmt *statement = NULL;
  assert_int_equal(sqlite3_prepare_v2(f->store.db, sql, -1, &statement, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  const double value = sqlite3_column_type(statement, 0) == SQLITE_NULL ? NAN : sqlite3_column_double(statement, 0);
  sqlite3_finalize(statement);
  return value;
}

static enum tb_written store(struct fixture *f, const char *text) {
  struct tb_submission *s;
  char why[TB_SCHEMA_WHY] = "";
  if (tb_intake_take(f->intake, text, strlen(text), false, NULL, &s, why) != TB_TAKEN_OK) fail_msg("%s", why);
  assert_true(tb_store_run(&f->store, tb_store_get(&f->store, TB_SQL_BEGIN)));
  const enum tb_written written = tb_submission_apply(&s->write, &f->store);
  assert_true(tb_store_count(&f->store) && tb_store_run(&f->store, tb_store_get(&f->store, TB_SQL_COMMIT)));
  free(s);
  return written;
}

/* What a point keeps, and what its series shows: the newest by when it was started, whatever came last. */
static void test_store(void **state) {
  static char text[DOCUMENT_HEAD + 3 * DOCUMENT_CASE];
  struct fixture f;
  (void)state;
  set_up(&f);
  document_write(text, DOCUMENT_SERIES, 3);
  assert_int_equal(store(&f, text), TB_WRITTEN_STORED);
  assert_int_equal(store(&f, text), TB_WRITTEN_THERE);
  document_write(text, 0, 3); /* the same cases, earlier */
  assert_int_equal(store(&f, text), TB_WRITTEN_STORED);
  assert_true(column(&f, "SELECT count(*) FROM points") == 6);
  assert_true(column(&f, "SELECT count(*) FROM series") == 3);
  assert_true(column(&f, "SELECT min(points) FROM series") == 2);
  assert_true(column(&f, "SELECT max(latest_started) FROM series") == (DOCUMENT_FIRST_S + (double)DOCUMENT_SERIES) * 1000);
  assert_true(column(&f, "SELECT min(first_started) FROM series") == (double)DOCUMENT_FIRST_S * 1000);
  assert_true(column(&f, "SELECT speedup FROM points LIMIT 1") == 2);
  assert_true(column(&f, "SELECT cold FROM points LIMIT 1") == 2e6);
  assert_true(isnan(column(&f, "SELECT kernels FROM points LIMIT 1")));
  assert_true(column(&f, "SELECT sum(value = steady) FROM points") == 6); /* no probe: nanoseconds */
  assert_true(tb_store_meta(&f.store, "documents") == 2 && tb_store_meta(&f.store, "points") == 6);
  tear_down(&f);
}

static void test_tokens(void **state) {
  static struct tb_auth auth;
  char token[TB_TOKEN_TEXT], reading[TB_TOKEN_TEXT];
  struct fixture f;
  (void)state;
  set_up(&f);
  tb_auth_open(&auth);
  assert_true(tb_token_new(&f.store, TB_SCOPE_WRITE, token) && tb_auth_load(&auth, &f.store));
  assert_int_equal(tb_auth_scope(&auth, token), TB_SCOPE_WRITE);
  assert_int_equal(tb_auth_scope(&auth, NULL), TB_SCOPE_NONE);
  token[20] ^= 1;
  assert_int_equal(tb_auth_scope(&auth, token), TB_SCOPE_NONE);
  assert_true(tb_auth_allows(&auth, TB_SCOPE_NONE, TB_SCOPE_READ) && !tb_auth_allows(&auth, TB_SCOPE_NONE, TB_SCOPE_WRITE));
  assert_true(tb_token_new(&f.store, TB_SCOPE_READ, reading) && tb_auth_load(&auth, &f.store));
  assert_false(tb_auth_allows(&auth, TB_SCOPE_NONE, TB_SCOPE_READ));
  assert_int_equal(tb_auth_scope(&auth, reading), TB_SCOPE_READ);
  tb_auth_close(&auth);
  tear_down(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_limits), cmocka_unit_test(test_times),  cmocka_unit_test(test_analysis),
      cmocka_unit_test(test_digest), cmocka_unit_test(test_store),  cmocka_unit_test(test_tokens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
