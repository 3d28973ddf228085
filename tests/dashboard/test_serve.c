/* Parts of the server that need no network: times, analysis, and what is stored of documents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dashboard/analysis/analysis.h"
#include "dashboard/ingest/dictionary.h"
#include "dashboard/ingest/intake.h"
#include "dashboard/server/settings.h"
#include "dashboard/store/digest.h"
#include "tests/dashboard/documents.h"

/* Linked in the place of realloc (tests/files.am): memory is out whenever a test says so. */
static bool no_memory;
void *__real_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes) { return no_memory ? NULL : __real_realloc(block, bytes); }

static void test_times(void **state) {
  static const struct {
    const char *text;
    int64_t ms;
  } cases[] = {{"1970-01-01T00:00:00Z", 0},
               {"2026-11-20T14:02:11Z", 1795183331000},
               {"2026-11-20T15:02:11+01:00", 1795183331000},
               {"2026-11-20T13:32:11.250-00:30", 1795183331250},
               {"2000-02-29T23:59:59Z", 951868799000},
               {"1900-03-01T00:00:00Z", -2203891200000},
               {"0000-01-01T00:00:00Z", -62167219200000}};
  char text[32];
  int64_t ms;
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_true(tb_time_parse(cases[i].text, &ms));
    assert_int_equal(ms, cases[i].ms);
  }
  tb_time_text(1795183331999, text, sizeof text);
  assert_string_equal(text, "2026-11-20T14:02:11Z");
  for (int64_t day = -25000; day < 60000; day++) { /* each day from 1901 to 2134, against the C library */
    tb_time_text(day * 86400000, text, sizeof text);
    assert_true(tb_time_parse(text, &ms));
    assert_int_equal(ms, day * 86400000);
  }
  static const char *const wrong[] = {"",
                                      "soon",
                                      "2026-13-01T00:00:00Z",
                                      "2026-11-20 00:00:00Z",
                                      "2026-11-20T14:02",
                                      "2026-11-20T14:02:1",
                                      "2026-11-20T14:02:11+1"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) assert_false(tb_time_parse(wrong[i], &ms));
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
  assert_int_equal(tb_analysis_closed_by(&a, 0), 1);  /* the slower step was taken back */
  assert_int_equal(a.shown.verdict, TB_VERDICT_SAME); /* long ago */
  assert_true(a.shown.score == 0);
  n = levels((const double[]){100, 130}, 2, values) - 10;
  assert_true(tb_analyse(values, n, &a));
  assert_int_equal(tb_analysis_closed_by(&a, 0), a.n_changes); /* open */
  assert_int_equal(a.shown.basis, TB_BASIS_STEP);
  assert_int_equal(a.shown.verdict, TB_VERDICT_SLOWER);
  assert_int_equal(a.step, 20);
  assert_true(a.shown.lo > 1.28 && a.shown.hi < 1.32 && a.shown.move > a.shown.lo &&
              a.shown.move < a.shown.hi);
  n = levels((const double[]){100}, 1, values);
  values[n - 1] = 80;
  assert_true(tb_analyse(values, n, &a));
  assert_int_equal(a.shown.basis, TB_BASIS_POINT);
  assert_int_equal(a.shown.verdict, TB_VERDICT_FASTER);
  assert_true(tb_analyse(values, 0, &a) && tb_analyse(values, 1, &a));
  assert_int_equal(a.shown.verdict, TB_VERDICT_UNSURE);
}

/* Night by night after a step, the same run is said to have brought it. */
static void test_same_run_each_night(void **state) {
  static struct tb_analysis a;
  static const double sizes[] = {1.05, 1.2, 2.34, 0.8};
  double values[TB_ANALYSIS_POINTS];
  (void)state;
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (size_t nights = 1; nights <= 8; nights++) {
      const size_t first = levels((const double[]){100, 100, 100 * sizes[s]}, 3, values) / 3 * 2;
      assert_true(tb_analyse(values, first + nights, &a));
      assert_true(a.shown.basis != TB_BASIS_NONE);
      assert_int_equal(a.shown.basis == TB_BASIS_POINT ? a.point : a.step, first);
      assert_int_equal(a.shown.verdict, sizes[s] > 1 ? TB_VERDICT_SLOWER : TB_VERDICT_FASTER);
    }
}

/* The library gives what the compiler's own SHA-256 gives, at each length around the ends of blocks. */
static void test_digest(void **state) {
  unsigned char data[300], own[TC_SHA256_BYTES], digest[TC_SHA256_BYTES];
  (void)state;
  for (size_t i = 0; i < sizeof data; i++) data[i] = (unsigned char)(i * 37 + 11);
  for (size_t n = 0; n <= sizeof data; n++) {
    struct tc_sha256 sha;
    tc_sha256_init(&sha);
    tc_sha256_add(&sha, data, n);
    tc_sha256_end(&sha, own);
    assert_true(tb_digest(data, n, digest));
    assert_memory_equal(digest, own, sizeof own);
  }
}

struct fixture {
  struct tb_store store;
  struct tb_schema *schema;
  struct tb_intake *intake;
};

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
  const double value =
      sqlite3_column_type(statement, 0) == SQLITE_NULL ? NAN : sqlite3_column_double(statement, 0);
  sqlite3_finalize(statement);
  return value;
}

static enum tb_written store(struct fixture *f, const char *text) {
  struct tb_submission *s;
  char why[TB_SCHEMA_WHY] = "";
  if (tb_intake_take(f->intake, text, strlen(text), false, NULL, &s, why) != TB_TAKEN_OK) fail_msg("%s", why);
  assert_true(tb_store_run(&f->store, tb_store_get(&f->store, TB_SQL_BEGIN)));
  const enum tb_written written = tb_submission_apply(&s->write, &f->store);
  assert_true(tb_store_flush_group(&f->store) &&
              tb_store_run(&f->store, tb_store_get(&f->store, TB_SQL_COMMIT)));
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
  assert_true(column(&f, "SELECT max(latest_started) FROM series") ==
              (DOCUMENT_FIRST_S + (double)DOCUMENT_SERIES) * 1000);
  assert_true(column(&f, "SELECT min(first_started) FROM series") == (double)DOCUMENT_FIRST_S * 1000);
  assert_true(column(&f, "SELECT speedup FROM points LIMIT 1") == 2);
  assert_true(column(&f, "SELECT cold FROM points LIMIT 1") == 2e6);
  assert_true(isnan(column(&f, "SELECT kernels FROM points LIMIT 1")));
  assert_true(column(&f, "SELECT sum(value = steady) FROM points") ==
              6); /* no calibration kernel: nanoseconds */
  assert_true(tb_store_meta(&f.store, "documents") == 2 && tb_store_meta(&f.store, "points") == 6);
  tear_down(&f);
}

/* That memory is out is nothing that the document could help: it may come again. */
static void test_no_memory(void **state) {
  static char text[DOCUMENT_HEAD + DOCUMENT_CASE];
  struct tb_submission *s;
  struct fixture f;
  char why[TB_SCHEMA_WHY] = "";
  (void)state;
  set_up(&f);
  document_write(text, 0, 1);
  no_memory = true;
  const enum tb_taken taken = tb_intake_take(f.intake, text, strlen(text), false, NULL, &s, why);
  no_memory = false;
  assert_int_equal(taken, TB_TAKEN_NO_MEMORY);
  assert_string_equal(why, "out of memory");
  assert_int_equal(store(&f, text), TB_WRITTEN_STORED);
  tear_down(&f);
}

/* A submission of a document, packed with the newest dictionary. */
static struct tb_submission *take_with(struct fixture *f, struct tb_dictionaries *dictionaries,
                                       const char *text) {
  const struct tb_dictionary *newest = tb_dictionary_newest(dictionaries);
  struct tb_submission *s;
  char why[TB_SCHEMA_WHY] = "";
  tb_intake_free(f->intake);
  f->intake = tb_intake_new(f->schema, (struct tb_intake_limits){1 << 20, 1 << 16, 100}, newest->bytes,
                            newest->length, newest->id);
  assert_non_null(f->intake);
  if (tb_intake_take(f->intake, text, strlen(text), false, NULL, &s, why) != TB_TAKEN_OK) fail_msg("%s", why);
  assert_ptr_equal(tb_intake_text(f->intake), text);
  return s;
}

static void write_now(struct fixture *f, struct tb_write *item) {
  item->written = item->apply(item, &f->store);
  assert_int_equal(item->written, TB_WRITTEN_STORED);
}

static void comes_back(struct fixture *f, const char *text) {
  unsigned char key[TC_SHA256_BYTES];
  size_t length;
  sqlite3_stmt *get = tb_store_get(&f->store, TB_SQL_DOCUMENT_BY_KEY);
  assert_true(tb_digest(text, strlen(text), key));
  sqlite3_bind_blob(get, 1, key, sizeof key, SQLITE_STATIC);
  assert_int_equal(sqlite3_step(get), SQLITE_ROW);
  char *stored = tb_store_unpack(&f->store, get, 0, &length);
  assert_non_null(stored);
  assert_string_equal(stored, text);
  free(stored);
  tb_store_done(get);
}

/* The first document is the sample that others are packed with; one that does not fit is none until there are
 * many. */
static void test_dictionary(void **state) {
  static char first[DOCUMENT_HEAD + DOCUMENT_CASE], second[sizeof first];
  struct tb_dictionaries dictionaries;
  struct fixture f;
  (void)state;
  set_up(&f);
  assert_true(tb_dictionaries_open(&dictionaries, f.schema, &f.store));
  document_write(first, 1, 1);
  document_write(second, 200000, 1);
  struct tb_submission *s = take_with(&f, &dictionaries, first);
  const size_t plain = s->packed_bytes;
  const int64_t names_alone = s->dictionary;
  struct tb_write *sample = tb_dictionary_offer(&dictionaries, first, s->bytes, s->packed_bytes);
  assert_non_null(sample);
  assert_null(tb_dictionary_offer(&dictionaries, first, s->bytes, s->packed_bytes)); /* one is on its way */
  write_now(&f, &s->write);
  free(s);
  write_now(&f, sample);
  assert_int_equal(tb_dictionary_newest(&dictionaries)->id,
                   names_alone); /* it may be taken back until its commit */
  sample->done(sample);
  s = take_with(&f, &dictionaries, second);
  assert_true(s->dictionary > names_alone && s->packed_bytes < plain / 4);
  assert_null(tb_dictionary_offer(&dictionaries, second, s->bytes, s->packed_bytes));
  write_now(&f, &s->write);
  free(s);
  comes_back(&f, first);
  comes_back(&f, second);
  int misfits = 1;
  while (!(sample = tb_dictionary_offer(&dictionaries, second, 100, 99))) misfits++;
  assert_int_equal(misfits, 64);
  sample->written = TB_WRITTEN_FAILED;
  sample->done(sample);
  const int64_t newest = tb_dictionary_newest(&dictionaries)->id;
  tb_dictionaries_close(&dictionaries);
  assert_true(tb_dictionaries_open(&dictionaries, f.schema, &f.store)); /* another start of the server */
  assert_int_equal(tb_dictionary_newest(&dictionaries)->id, newest);
  assert_null(tb_dictionary_offer(&dictionaries, second, 100, 99));
  tb_dictionaries_close(&dictionaries);
  tear_down(&f);
}

/* What --help says is what holds. */
static void test_settings(void **state) {
  struct tb_verb verb;
  struct tb_settings settings;
  (void)state;
  assert_true(tb_verb_begin(&verb, "serve", 0, NULL, 0));
  assert_true(tb_settings_read(&verb, &settings));
#define TB_SETTING(field, name, lowest, highest)                                                             \
  assert_int_equal(settings.field, strtoll(tb_verb_option_find("serve", name)->default_text, NULL, 10));
#include "dashboard/server/settings.def"
#undef TB_SETTING
  assert_true(settings.max_mib > 0 && settings.rate > 0 && settings.loopback && !settings.open &&
              !settings.rate_given);
  assert_string_equal(settings.db, tb_verb_option_find("serve", "db")->default_text);
  assert_string_equal(settings.listen, tb_verb_option_find("serve", "listen")->default_text);
  assert_true(!settings.host && !settings.backup && !settings.token);
  tb_verb_end(&verb);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_times),
      cmocka_unit_test(test_analysis),
      cmocka_unit_test(test_same_run_each_night),
      cmocka_unit_test(test_digest),
      cmocka_unit_test(test_store),
      cmocka_unit_test(test_dictionary),
      cmocka_unit_test(test_no_memory),
      cmocka_unit_test(test_settings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
