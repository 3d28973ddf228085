/* Files of other versions, and of other programs: what the store does with them when it opens them, also
 * where the process or the power ends meanwhile (crash_disk.h), or another process is at the same file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/wait.h>

#include "dashboard/ingest/intake.h"
#include "dashboard/server/auth.h"
#include "tests/dashboard/crash_disk.h"
#include "tests/dashboard/documents.h"
#include "tests/dashboard/sql.h"

enum { CACHE_KIB = 256, COLUMNS = 4096 };

/* A second process, of which the store only sees that it was faster: it opens the file right before this one
 * gets the lock. */
static bool another_is_faster;
static void open_and_close(void) {
  struct tb_store store;
  struct tc_error err;
  assert_int_equal(tb_store_open(&store, disk.path, TB_STORE_WRITE, CACHE_KIB, &err), TC_OK);
  tb_store_close(&store);
}

typedef int (*row_callback)(void *, int, char **, char **);
int __real_sqlite3_exec(sqlite3 *db, const char *sql, row_callback callback, void *data, char **message);
int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, row_callback callback, void *data, char **message);
int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, row_callback callback, void *data, char **message) {
  if (another_is_faster && !strcmp(sql, "BEGIN IMMEDIATE")) {
    another_is_faster = false;
    open_and_close();
  }
  return __real_sqlite3_exec(db, sql, callback, data, message);
}

/* --- files --- */

static const char version_4[] = {
#include "tests/dashboard/version_4.sql.inc"
    0};
static const char version_4_token[] =
    "tb_write_883021fa8ffeccddfbbae311a7bff4057c4420cd586e32ca7654b220f50c2c67";

/* As a file of version 1 was. */
static const char version_1[] =
    "PRAGMA user_version = 0; DROP INDEX changes_open; DROP INDEX series_failing; DROP INDEX commits_latest; "
    "DROP INDEX "
    "documents_machines; ALTER TABLE series DROP COLUMN outcome_started;"
    "ALTER TABLE commits DROP COLUMN latest_started; ALTER TABLE documents DROP COLUMN machines;"
    "ALTER TABLE points RENAME COLUMN pays_off_calls TO pays_off; ALTER TABLE points RENAME COLUMN moved TO "
    "bytes_moved; ALTER TABLE points RENAME COLUMN peak TO peak_bytes;"
    "ALTER TABLE points RENAME COLUMN code TO code_bytes; ALTER TABLE series DROP COLUMN point_verdict; "
    "ALTER TABLE series DROP COLUMN point_move; ALTER TABLE series DROP COLUMN point_p;"
    "ALTER TABLE series DROP COLUMN point_error; ALTER TABLE series DROP COLUMN point_freedom; ALTER TABLE "
    "series DROP COLUMN point_started; ALTER TABLE series DROP COLUMN point_commit;"
    "ALTER TABLE series DROP COLUMN step_move; ALTER TABLE series DROP COLUMN step_lo; ALTER TABLE series "
    "DROP COLUMN step_hi; ALTER TABLE series DROP COLUMN step_started;"
    "ALTER TABLE series DROP COLUMN step_commit; INSERT INTO series(name, machine, points, latest_started, "
    "score) VALUES('x', 1, 1, 5, 0.1);";

/* What a file of version 3 had: figures of runs that were wrong, no word since when they are, nor when
 * commits were measured, or what is of many machines. */
static const char version_3[] =
    "PRAGMA user_version = 0; DROP INDEX series_failing; DROP INDEX commits_latest; DROP INDEX "
    "documents_machines; ALTER TABLE series "
    "DROP COLUMN outcome_started; ALTER TABLE commits DROP COLUMN latest_started;"
    "ALTER TABLE documents DROP COLUMN machines;"
    "INSERT INTO commits VALUES(1, 'new'), (2, 'old'), (3, 'left over'); INSERT INTO machines VALUES(1, "
    "'one'), (2, 'two');"
    "INSERT INTO documents VALUES(1, 'a', 0, 30, 1, 1, 1, 1, 0, ''), (2, 'b', 0, 40, 1, 1, 1, 1, 0, ''), (3, "
    "'c', 0, 10, 2, 1, 1, 1, 0, '');"
    "INSERT INTO series(id, name, machine, points, latest_started, latest_outcome, latest_steady, "
    "latest_speedup) VALUES(1, 'x', 1, 3, 40, 1, 7, 2), (2, 'y', 2, 1, 40, 0, 8, 2);"
    "INSERT INTO points(series, started, document, position, commit_id, outcome, value, steady, "
    "instructions) VALUES(1, 10, 3, 0, 2, 0, 1, 10, 5), (1, 30, 1, 0, 1, 1, 2, 20, 5),"
    " (1, 40, 2, 0, 1, 1, 3, 30, 5), (2, 40, 2, 1, 1, 0, 4, 40, 5);";

/* Of this version as to its number, and of a program that had two figures less and one more. */
static const char other_figures[] = "ALTER TABLE points DROP COLUMN steady_p05; ALTER TABLE points DROP "
                                    "COLUMN kernels; ALTER TABLE points ADD "
                                    "COLUMN of_tomorrow; INSERT INTO points(series, started, document, "
                                    "position, steady, steady_p95) VALUES(9, "
                                    "1, 1, 0, 7, 8);";

static void execute(sqlite3 *db, const char *sql) {
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%.60s: %s", sql, sqlite3_errmsg(db));
}

static sqlite3 *open_plain(void) {
  sqlite3 *db = NULL;
  assert_int_equal(sqlite3_open(disk.path, &db), SQLITE_OK);
  return db;
}

static void change_file(const char *sql) {
  sqlite3 *db = open_plain();
  execute(db, sql);
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void make_version_4(void) {
  start_anew();
  change_file("PRAGMA journal_mode=WAL");
  change_file(version_4);
}

static void make_other_figures(void) {
  start_anew();
  open_and_close();
  change_file(other_figures);
}

/* --- what must be there --- */

/* Columns of the tables, in their order or by their names, and indexes. */
static void columns_of(sqlite3 *db, bool by_name, char out[COLUMNS]) {
  static const char sql[] =
      "SELECT group_concat(one) || (SELECT group_concat(sql) FROM (SELECT sql FROM sqlite_schema WHERE type "
      "= "
      "'index' ORDER BY name)) FROM (SELECT t.name || '.' || c.name || ' ' || c.type AS one FROM "
      "sqlite_schema "
      "t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.name, iif(?, c.name, c.cid))";
  sqlite3_stmt *statement = NULL;
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
  sqlite3_bind_int(statement, 1, by_name);
  assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
  assert_true(snprintf(out, COLUMNS, "%s", (const char *)sqlite3_column_text(statement, 0)) < COLUMNS);
  sqlite3_finalize(statement);
}

/* The tables are those of a new file; `aside`: but for the order of columns. */
static void check_tables(sqlite3 *db, bool aside) {
  static char fresh[COLUMNS], found[COLUMNS];
  struct tb_store made;
  struct tc_error err;
  assert_int_equal(tb_store_open(&made, ":memory:", TB_STORE_WRITE, CACHE_KIB, &err), TC_OK);
  columns_of(made.db, aside, fresh);
  tb_store_close(&made);
  columns_of(db, aside, found);
  assert_string_equal(found, fresh);
}

struct row {
  const char *sql;
  double expected;
};
static const struct row of_this_version[] = {
    {"SELECT user_version FROM pragma_user_version", TB_STORE_VERSION},
    {"SELECT value FROM meta WHERE name = 'version'", TB_STORE_VERSION},
    {"SELECT integrity_check = 'ok' FROM pragma_integrity_check", 1}};
enum { N_OF_THIS_VERSION = sizeof of_this_version / sizeof *of_this_version };

static void check_rows(sqlite3 *db, const struct row *rows, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (number_of(db, rows[i].sql) != rows[i].expected)
      fail_msg("%s: %g", rows[i].sql, number_of(db, rows[i].sql));
}

static void check_version_3(struct tb_store *store) {
  static const struct row rows[] = {
      {"SELECT count(value) + count(steady) + count(instructions) FROM points WHERE outcome <> 0", 0},
      {"SELECT sum(steady) + sum(value) + sum(instructions) FROM points WHERE outcome = 0", 65},
      {"SELECT count(latest_steady) + count(latest_speedup) FROM series WHERE latest_outcome <> 0", 0},
      {"SELECT latest_steady FROM series WHERE id = 2", 8},
      {"SELECT dirty FROM series WHERE id = 1", 40},
      {"SELECT count(dirty) FROM series", 1},
      {"SELECT outcome_started FROM series WHERE id = 1", 30},
      {"SELECT latest_started FROM commits WHERE id = 1", 40},
      {"SELECT latest_started FROM commits WHERE id = 2", 10},
      {"SELECT count(latest_started) FROM commits", 2},
      {"SELECT sum(id) FROM documents WHERE machines > 1", 2}};
  check_rows(store->db, rows, sizeof rows / sizeof *rows);
}

/* What the dump has, as this program reads it. */
static void check_version_4(struct tb_store *store) {
  static const struct row rows[] = {{"SELECT count(*) FROM documents", 3},
                                    {"SELECT count(*) FROM points", 6},
                                    {"SELECT sum(points) FROM series", 6},
                                    {"SELECT value FROM meta WHERE name = 'documents'", 3},
                                    {"SELECT sum(steady) FROM points", 1000 + 1001 + 1003 + 1004 + 1006},
                                    {"SELECT max(noise_floor) FROM points", 0.01},
                                    {"SELECT count(*) FROM tokens", 1}};
  static char expected[DOCUMENT_HEAD + 2 * DOCUMENT_CASE];
  struct tb_auth auth;
  size_t length;
  check_rows(store->db, rows, sizeof rows / sizeof *rows);
  document_write(expected, 0, 2);
  sqlite3_stmt *get = NULL;
  assert_int_equal(sqlite3_prepare_v2(store->db, "SELECT bytes, dictionary, body FROM documents WHERE id = 1",
                                      -1, &get, NULL),
                   SQLITE_OK);
  assert_int_equal(sqlite3_step(get), SQLITE_ROW);
  char *text = tb_store_unpack(store, get, 0, &length);
  assert_non_null(text);
  assert_string_equal(text, expected);
  free(text);
  sqlite3_finalize(get);
  tb_auth_open(&auth);
  assert_true(tb_auth_load(&auth, store));
  assert_int_equal(tb_auth_scope(&auth, version_4_token), TB_SCOPE_WRITE);
  tb_auth_close(&auth);
}

/* A document that comes after the change: each figure is in its column, whatever their order. */
static void check_goes_on(struct tb_store *store) {
  static const struct row rows[] = {{"SELECT steady FROM points WHERE started = 1735689601000", 1419.1},
                                    {"SELECT steady_p05 FROM points WHERE started = 1735689601000", 1419.1},
                                    {"SELECT baseline FROM points WHERE started = 1735689601000", 8484},
                                    {"SELECT speedup FROM points WHERE started = 1735689601000", 2},
                                    {"SELECT cold FROM points WHERE started = 1735689601000", 2e6}};
  static char text[DOCUMENT_HEAD + DOCUMENT_CASE];
  char why[TB_SCHEMA_WHY] = "";
  struct tb_submission *s;
  struct tc_error err;
  int64_t id;
  struct tb_schema *schema = tb_schema_of_results(&err);
  assert_non_null(schema);
  assert_true(tb_store_add_dictionary(store, "words", 5, &id));
  struct tb_intake *intake =
      tb_intake_new(schema, (struct tb_intake_limits){1 << 20, 1 << 16, 100}, "words", 5, id);
  assert_non_null(intake);
  document_write(text, 1, 1);
  if (tb_intake_take(intake, text, strlen(text), false, NULL, &s, why) != TB_TAKEN_OK) fail_msg("%s", why);
  assert_true(tb_store_run(store, tb_store_get(store, TB_SQL_BEGIN)));
  assert_int_equal(tb_submission_apply(&s->write, store), TB_WRITTEN_STORED);
  assert_true(tb_store_flush_group(store) && tb_store_run(store, tb_store_get(store, TB_SQL_COMMIT)));
  free(s);
  tb_intake_free(intake);
  tb_schema_free(schema);
  check_rows(store->db, rows, sizeof rows / sizeof *rows);
}

static void check_other_figures(struct tb_store *store) {
  static const struct row rows[] = {
      {"SELECT steady FROM points WHERE series = 9", 7},
      {"SELECT steady_p95 FROM points WHERE series = 9", 8},
      {"SELECT count(steady_p05) + count(kernels) FROM points WHERE series = 9", 0},
      {"SELECT count(of_tomorrow) FROM points", 0}};
  check_rows(store->db, rows, sizeof rows / sizeof *rows);
}

/* --- tests --- */

static void open_store(struct tb_store *store, enum tb_store_use use) {
  struct tc_error err = {0};
  if (tb_store_open(store, disk.path, use, CACHE_KIB, &err) != TC_OK) fail_msg("%s", err.message);
}

static void test_new_file(void **state) {
  struct tb_store store;
  (void)state;
  start_anew();
  open_store(&store, TB_STORE_WRITE);
  check_rows(store.db, of_this_version, N_OF_THIS_VERSION);
  check_goes_on(&store);
  tb_store_close(&store);
  const int calls = disk.calls;
  open_store(&store, TB_STORE_WRITE);
  assert_int_equal(number_of(store.db, "SELECT count(*) FROM points"), 1);
  tb_store_close(&store);
  assert_in_range(disk.calls - calls, 0, 4); /* the log is made and goes: nothing is written a second time */
}

static void test_version_4(void **state) {
  struct tb_store store;
  (void)state;
  make_version_4();
  open_store(&store, TB_STORE_READ); /* for a copy */
  assert_true(number_of(store.db, "SELECT user_version FROM pragma_user_version") == 0);
  check_version_4(&store);
  tb_store_close(&store);
  open_store(&store, TB_STORE_WRITE);
  check_rows(store.db, of_this_version, N_OF_THIS_VERSION);
  check_tables(store.db, false);
  check_version_4(&store);
  check_goes_on(&store);
  tb_store_close(&store);
}

static void test_version_3(void **state) {
  struct tb_store store;
  (void)state;
  start_anew();
  open_and_close();
  change_file(version_3);
  change_file("UPDATE meta SET value = 3 WHERE name = 'version'");
  open_store(&store, TB_STORE_WRITE);
  check_rows(store.db, of_this_version, N_OF_THIS_VERSION);
  check_version_3(&store);
  tb_store_close(&store);
}

static void test_version_1(void **state) {
  struct tb_store store;
  (void)state;
  start_anew();
  open_and_close();
  change_file(version_1);
  change_file("UPDATE meta SET value = 1 WHERE name = 'version'; INSERT INTO meta VALUES('documents', 7)");
  open_store(&store, TB_STORE_WRITE);
  check_rows(store.db, of_this_version, N_OF_THIS_VERSION);
  check_tables(store.db, false);
  assert_int_equal(tb_store_meta(&store, "documents"), 7);
  assert_true(number_of(store.db, "SELECT count(*) FROM series WHERE dirty IS NOT NULL") == 1);
  tb_store_close(&store);
}

/* Columns that a figure has got since are added; those of a newer program's figures stay, and are empty. */
static void test_other_figures(void **state) {
  struct tb_store store;
  (void)state;
  make_other_figures();
  open_store(&store, TB_STORE_WRITE);
  check_rows(store.db, of_this_version, N_OF_THIS_VERSION);
  check_other_figures(&store);
  check_goes_on(&store);
  check_other_figures(&store);
  execute(store.db, "ALTER TABLE points DROP COLUMN of_tomorrow");
  check_tables(store.db, true);
  tb_store_close(&store);
}

/* Refused, and not touched. */
static void check_refused(tc_status status, const char *why) {
  struct bytes before = {0}, after = {0};
  struct tb_store store;
  assert_true(read_now(DATABASE, &before));
  for (int use = TB_STORE_WRITE; use <= TB_STORE_READ; use++) {
    struct tc_error err = {0};
    assert_int_equal(tb_store_open(&store, disk.path, (enum tb_store_use)use, CACHE_KIB, &err), status);
    if (!strstr(err.message, why)) fail_msg("%s", err.message);
  }
  assert_true(read_now(DATABASE, &after));
  assert_int_equal(after.count, before.count);
  assert_memory_equal(after.data, before.data, before.count);
  free(before.data);
  free(after.data);
}

static void test_newer(void **state) {
  char sql[64];
  (void)state;
  start_anew();
  open_and_close();
  snprintf(sql, sizeof sql, "PRAGMA user_version = %d", TB_STORE_VERSION + 1);
  change_file(sql);
  check_refused(TC_VERSION, "made by a newer tbench");
  check_refused(TC_VERSION, "use that tbench, or with db= another file");
  make_version_4();
  change_file("UPDATE meta SET value = 6 WHERE name = 'version'");
  check_refused(TC_VERSION, "made by a newer tbench");
}

/* Others number their tables, too. */
static void test_of_others(void **state) {
  (void)state;
  start_anew();
  change_file("CREATE TABLE places(id INTEGER); PRAGMA user_version = 63");
  check_refused(TC_CORRUPT, "its tables are those of something else");
  start_anew();
  change_file("CREATE TABLE meta(name TEXT PRIMARY KEY, value); PRAGMA user_version = 5");
  check_refused(TC_CORRUPT, "its tables are those of something else");
  make_version_4();
  change_file("DELETE FROM meta WHERE name = 'version'");
  check_refused(TC_CORRUPT, "its tables are those of something else");
}

/* --- the process ends, or the power --- */

/* All that a change may have to do: the version's place moves, and two figures are added. */
static void make_old(void) {
  make_version_4();
  change_file("ALTER TABLE points DROP COLUMN steady_p05; ALTER TABLE points DROP COLUMN kernels");
  disk.calls = 0;
}

/* The file is as it was, or all of it is done; and it opens. `told`: the store was opened. */
static void check_remains(struct remains *remains, bool told) {
  struct tb_store store;
  start_with(remains);
  sqlite3 *db = open_plain();
  const double version = number_of(db, "SELECT user_version FROM pragma_user_version"),
               in_meta = number_of(db, "SELECT value FROM meta WHERE name = 'version'"),
               added = number_of(db, "SELECT count(*) FROM pragma_table_info('points') WHERE name IN "
                                     "('steady_p05', 'kernels')");
  const bool changed = version > 0;
  assert_true(changed || !told);
  assert_true(version == (changed ? TB_STORE_VERSION : 0));
  assert_true(in_meta == (changed ? TB_STORE_VERSION : 4));
  assert_true(added == (changed ? 2 : 0));
  assert_int_equal(sqlite3_close(db), SQLITE_OK);
  open_store(&store, TB_STORE_WRITE);
  check_rows(store.db, of_this_version, N_OF_THIS_VERSION);
  check_tables(store.db, true);
  check_version_4(&store);
  tb_store_close(&store);
}

/* How many calls it took. */
static int end_at(int dies_at, int fails_at) {
  struct remains remains[ENDS] = {0};
  struct tb_store store;
  struct tc_error err;
  make_old();
  disk.dies_at = dies_at;
  disk.fails_at = fails_at;
  const bool told = tb_store_open(&store, disk.path, TB_STORE_WRITE, CACHE_KIB, &err) == TC_OK;
  const int calls = disk.calls;
  for (int i = 0; i < ENDS; i++) take_remains(&remains[i], (enum end)i);
  tb_store_close(&store);
  for (int i = 0; i < ENDS; i++) check_remains(&remains[i], told);
  return calls;
}

static void test_ends_at_each_call(void **state) {
  (void)state;
  const int calls = end_at(0, 0);
  assert_in_range(calls, 5, 1000);
  for (int i = 1; i <= calls; i++) end_at(i, 0);
}

static void test_each_call_fails(void **state) {
  (void)state;
  const int calls = end_at(0, 0);
  for (int i = 1; i <= calls; i++) end_at(0, i);
}

/* --- several processes --- */

static void make_empty(void) { start_anew(); }

static void (*const makes[])(void) = {make_empty, make_old, make_other_figures};
enum { KINDS = sizeof makes / sizeof *makes };

static void test_another_was_faster(void **state) {
  struct tb_store store;
  (void)state;
  for (int i = 0; i < KINDS; i++) {
    makes[i]();
    another_is_faster = true;
    open_store(&store, TB_STORE_WRITE);
    assert_false(another_is_faster);
    check_rows(store.db, of_this_version, N_OF_THIS_VERSION);
    check_goes_on(&store);
    tb_store_close(&store);
  }
}

/* Children that open the file at once, as soon as the pipe is closed; on the system's disk, since the other
 * one is of one process. */
static void check_together(void) {
  enum { CHILDREN = 4 };
  pid_t children[CHILDREN];
  int ends[2], status;
  char byte;
  assert_int_equal(pipe(ends), 0);
  for (int i = 0; i < CHILDREN; i++) {
    children[i] = fork();
    assert_true(children[i] >= 0);
    if (children[i]) continue;
    struct tb_store store;
    struct tc_error err = {0};
    sqlite3_vfs_register(below, 1);
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 0) _exit(2);
    if (tb_store_open(&store, disk.path, TB_STORE_WRITE, CACHE_KIB, &err) == TC_OK) {
      tb_store_close(&store);
      _exit(0);
    }
    fprintf(stderr, "%s\n", err.message);
    _exit(1);
  }
  close(ends[0]);
  close(ends[1]);
  for (int i = 0; i < CHILDREN; i++) {
    assert_int_equal(waitpid(children[i], &status, 0), children[i]);
    assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
  }
}

static void test_together(void **state) {
  enum { ROUNDS = 10 };
  struct tb_store store;
  (void)state;
  for (int round = 0; round < ROUNDS * KINDS; round++) {
    makes[round % KINDS]();
    check_together();
    open_store(&store, TB_STORE_WRITE);
    check_rows(store.db, of_this_version, N_OF_THIS_VERSION);
    tb_store_close(&store);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_new_file),        cmocka_unit_test(test_version_4),
      cmocka_unit_test(test_version_3),       cmocka_unit_test(test_version_1),
      cmocka_unit_test(test_other_figures),   cmocka_unit_test(test_newer),
      cmocka_unit_test(test_of_others),       cmocka_unit_test(test_ends_at_each_call),
      cmocka_unit_test(test_each_call_fails), cmocka_unit_test(test_another_was_faster),
      cmocka_unit_test(test_together)};
  return cmocka_run_group_tests(tests, begin_disk, end_disk);
}
