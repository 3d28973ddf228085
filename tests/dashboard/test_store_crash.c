/* What was acknowledged is on disk: the process ends, or the power, at each call that changes a file
 * (crash_disk.h); or that call fails, and all goes on. After that the database opens, is whole, and holds
 * each transaction whose commit was told, and no other one in part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <semaphore.h>

#include "dashboard/store/writer.h"
#include "tests/dashboard/crash_disk.h"

/* --- what is done --- */

enum {
  ITEMS = 7,
  REFUSED = 4 /* takes itself back */,
  BLOB = 24000,
  CACHE_KIB = 16 /* less than a transaction changes */
};

struct item {
  struct tb_write write;
  int number;
  sem_t done;
};

static const unsigned char *blob_of(int number) {
  static unsigned char blob[BLOB];
  return memset(blob, 'a' + number, sizeof blob);
}

/* A commit, a blob and its id by its name. */
static bool add(struct tb_store *store, int number) {
  char name[32];
  int64_t id;
  snprintf(name, sizeof name, "item %d", number);
  return tb_store_commit_id(store, name) >= 0 && tb_store_add_dictionary(store, blob_of(number), BLOB, &id) &&
         tb_store_set_meta(store, name, id, false);
}

static enum tb_written apply_item(struct tb_write *self, struct tb_store *store) {
  const struct item *item = (struct item *)self;
  return add(store, item->number) && item->number != REFUSED ? TB_WRITTEN_STORED : TB_WRITTEN_FAILED;
}

static void item_done(struct tb_write *self) { sem_post(&((struct item *)self)->done); }

/* told: which were told to be stored. */
static void write_items(struct tb_store *store, int first, int last, bool told[ITEMS]) {
  struct tb_writer *writer = tb_writer_start(store);
  assert_non_null(writer);
  for (int i = first; i <= last; i++) {
    struct item item = {.write = {.apply = apply_item, .done = item_done}, .number = i};
    sem_init(&item.done, 0, 0);
    tb_writer_put(writer, &item.write);
    sem_wait(&item.done);
    sem_destroy(&item.done);
    told[i] = item.write.written == TB_WRITTEN_STORED;
  }
  tb_writer_stop(writer);
}

static void work_aloud(const char *setting, bool told[ITEMS]) {
  struct tb_store store;
  struct tc_error err;
  memset(told, 0, ITEMS * sizeof *told);
  if (tb_store_open(&store, disk.path, TB_STORE_WRITE, CACHE_KIB, &err) != TC_OK) return;
  sqlite3_exec(store.db, setting, NULL, NULL, NULL);
  write_items(&store, 0, 2, told);
  sqlite3_exec(store.db, "PRAGMA wal_checkpoint(RESTART)", NULL, NULL,
               NULL); /* the log begins anew over what is in it */
  write_items(&store, 3, 5, told);
  sqlite3_exec(store.db, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
  write_items(&store, 6, 6, told);
  tb_store_close(&store);
}

/* Without the writer's words on each failure. */
static void work(const char *setting, bool told[ITEMS]) {
  const int aloud = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  assert_true(aloud >= 0 && nowhere >= 0 && dup2(nowhere, STDERR_FILENO) >= 0);
  work_aloud(setting, told);
  dup2(aloud, STDERR_FILENO);
  close(aloud);
  close(nowhere);
}

/* --- what must be there --- */

static int64_t number_of(struct tb_store *store, const char *sql, const char *name) {
  sqlite3_stmt *statement = NULL;
  int64_t value = -1;
  if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) == SQLITE_OK) {
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    if (sqlite3_step(statement) == SQLITE_ROW) value = sqlite3_column_int64(statement, 0);
  }
  sqlite3_finalize(statement);
  return value;
}

static bool has_blob(struct tb_store *store, int64_t id, int number) {
  sqlite3_stmt *get = tb_store_get(store, TB_SQL_GET_DICTIONARY);
  sqlite3_bind_int64(get, 1, id);
  const bool good = sqlite3_step(get) == SQLITE_ROW && sqlite3_column_bytes(get, 0) == BLOB &&
                    !memcmp(sqlite3_column_blob(get, 0), blob_of(number), BLOB);
  tb_store_done(get);
  return good;
}

/* NULL: nothing is wrong. */
static const char *wrong_with(struct tb_store *store, int number, bool told) {
  char name[32];
  snprintf(name, sizeof name, "item %d", number);
  const int64_t id = tb_store_meta(store, name),
                commits = number_of(store, "SELECT count(*) FROM commits WHERE name = ?", name);
  if (told && !id) return "what was told to be stored is lost";
  if (id && number == REFUSED) return "what was taken back is there";
  return commits != (id != 0) || (id && !has_blob(store, id, number)) ? "a transaction is there in part"
                                                                      : NULL;
}

static const char *wrong_after(struct remains *remains, const bool told[ITEMS]) {
  struct tb_store store;
  struct tc_error err;
  int64_t blobs = 0;
  start_with(remains);
  if (tb_store_open(&store, disk.path, TB_STORE_WRITE, 256, &err) != TC_OK) return "it does not open";
  const char *wrong =
      number_of(&store, "SELECT integrity_check = 'ok' FROM pragma_integrity_check", NULL) == 1
          ? NULL
          : "it is damaged";
  for (int i = 0; i < ITEMS && !wrong; i++) {
    char name[32];
    snprintf(name, sizeof name, "item %d", i);
    blobs += tb_store_meta(&store, name) != 0;
    wrong = wrong_with(&store, i, told[i]);
  }
  if (!wrong && number_of(&store, "SELECT count(*) FROM dictionaries", NULL) != blobs)
    wrong = "a transaction is there in part";
  if (!wrong && !(add(&store, ITEMS) && !wrong_with(&store, ITEMS, true))) wrong = "it does not go on";
  tb_store_close(&store);
  return wrong;
}

/* Works until the given call, and looks at all that may be left. */
static const char *wrong_at(int dies_at, int fails_at, const char *setting) {
  static const char *const ends[ENDS] = {"killed", "without power", "without power, some of it written"};
  static char text[128];
  struct remains remains[ENDS] = {0};
  bool told[ITEMS];
  const char *wrong = NULL;
  start_anew();
  disk.dies_at = dies_at;
  disk.fails_at = fails_at;
  work(setting, told);
  for (int i = 0; i < ENDS; i++) take_remains(&remains[i], i);
  for (int i = 0; i < ENDS; i++) {
    const char *one = wrong_after(&remains[i], told);
    if (one && !wrong) snprintf(text, sizeof text, "%s: %s", ends[i], wrong = one);
  }
  return wrong ? text : NULL;
}

static int count_calls(void) {
  bool told[ITEMS];
  start_anew();
  work("", told);
  for (int i = 0; i < ITEMS; i++) assert_int_equal(told[i], i != REFUSED);
  return disk.calls;
}

static void test_ends_at_each_call(void **state) {
  (void)state;
  const int calls = count_calls();
  assert_in_range(calls, 100, 10000);
  for (int i = 1; i <= calls; i++) {
    const char *wrong = wrong_at(i, 0, "");
    if (wrong) fail_msg("call %d of %d: %s", i, calls, wrong);
  }
}

static void test_each_call_fails(void **state) {
  (void)state;
  const int calls = count_calls();
  for (int i = 1; i <= calls; i++) {
    const char *wrong = wrong_at(0, i, "");
    if (wrong) fail_msg("call %d of %d: %s", i, calls, wrong);
  }
}

/* The test itself: it sees a commit that was not synced. */
static void test_sees_what_was_not_synced(void **state) {
  (void)state;
  const int calls = count_calls();
  int lost = 0;
  for (int i = calls / 2; i <= calls && !lost; i++) {
    const char *wrong = wrong_at(i, 0, "PRAGMA synchronous=NORMAL");
    lost += wrong && strstr(wrong, "without power") && strstr(wrong, "is lost");
  }
  assert_int_equal(lost, 1);
}

/* A transaction that is taken back after a part of it went to the log leaves nothing behind that could fall
 * upon what another process commits. */
static void test_two_writers(void **state) {
  struct tb_store one, two;
  struct tc_error err;
  struct remains remains = {0};
  bool told[ITEMS] = {0};
  (void)state;
  start_anew();
  assert_int_equal(tb_store_open(&one, disk.path, TB_STORE_WRITE, CACHE_KIB, &err), TC_OK);
  assert_int_equal(tb_store_open(&two, disk.path, TB_STORE_WRITE, CACHE_KIB, &err), TC_OK);
  const int before = disk.calls;
  assert_true(tb_store_run(&one, tb_store_get(&one, TB_SQL_BEGIN)) && add(&one, REFUSED));
  assert_true(disk.calls > before); /* a part is in the log */
  assert_true(tb_store_run(&one, tb_store_get(&one, TB_SQL_ROLLBACK)));
  tb_store_forget(&one);
  assert_true(tb_store_run(&two, tb_store_get(&two, TB_SQL_BEGIN)) && add(&two, 0) &&
              tb_store_run(&two, tb_store_get(&two, TB_SQL_COMMIT)));
  assert_true(tb_store_run(&one, tb_store_get(&one, TB_SQL_BEGIN)) && add(&one, 1) &&
              tb_store_run(&one, tb_store_get(&one, TB_SQL_COMMIT)));
  told[0] = told[1] = true;
  disk.dead = true;
  take_remains(&remains, POWER);
  tb_store_close(&two);
  tb_store_close(&one);
  const char *wrong = wrong_after(&remains, told);
  if (wrong) fail_msg("%s", wrong);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ends_at_each_call), cmocka_unit_test(test_each_call_fails),
      cmocka_unit_test(test_sees_what_was_not_synced), cmocka_unit_test(test_two_writers)};
  return cmocka_run_group_tests(tests, begin_disk, end_disk);
}
