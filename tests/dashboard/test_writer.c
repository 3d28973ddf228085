/* What is written, and when it is told: the writer's groups, and the log of the database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <semaphore.h>
#include <unistd.h>

#include "dashboard/store/writer.h"
#include "tests/dashboard/sql.h"

static void execute(sqlite3 *db, const char *sql) {
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

/* Others see what was committed, also when the transaction does not fit into the cache, so that SQLite reads
 * back what it wrote to the log. */
static void check_log(int cache_kib) {
  static const char insert[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
                               "2000) INSERT INTO t(x) SELECT randomblob(700) FROM n";
  char folder[] = "log-XXXXXX", path[64];
  struct tb_store store;
  struct tc_error err;
  sqlite3 *other = NULL;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/log.db", folder);
  assert_int_equal(tb_store_open(&store, path, TB_STORE_WRITE, cache_kib, &err), TC_OK);
  assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
  execute(store.db, "CREATE TABLE t(id INTEGER PRIMARY KEY, x BLOB)");
  for (int round = 1; round <= 3; round++) {
    execute(store.db, "BEGIN IMMEDIATE");
    execute(store.db, insert);
    execute(store.db, "UPDATE t SET x = randomblob(600) WHERE id % 7 = 3");
    execute(store.db, "UPDATE t SET x = randomblob(600) WHERE id % 5 = 1");
    assert_true(number_of(store.db, "SELECT sum(length(x) >= 600) FROM t") == 2000 * round);
    assert_true(number_of(other, "SELECT count(*) FROM t") == 2000 * (round - 1));
    execute(store.db, "COMMIT");
    assert_true(number_of(other, "SELECT count(*) FROM t") == 2000 * round);
  }
  execute(store.db, "BEGIN IMMEDIATE");
  execute(store.db, insert);
  execute(store.db, "ROLLBACK");
  execute(store.db, "DELETE FROM t WHERE id % 3 = 0");
  assert_true(number_of(other, "SELECT count(*) FROM t") == 4000);
  execute(store.db, "PRAGMA wal_checkpoint(TRUNCATE)");
  execute(store.db, "INSERT INTO t(x) VALUES(x'00')");
  assert_true(number_of(other, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") == 1);
  sqlite3_close(other);
  tb_store_close(&store);
  assert_int_equal(remove(path), 0); /* its log went with the last connection */
  assert_int_equal(rmdir(folder), 0);
}

static void test_log(void **state) {
  (void)state;
  check_log(64);
  check_log(8192);
}

/* --- groups --- */

enum { MANY = 200 };

struct world {
  struct tb_store store;
  struct tb_writer *writer;
  sem_t open, done;
  int applied, told, ends, told_at_end;
};
struct item {
  struct tb_write write;
  bool gated;
  int number, applied_as;
};

static enum tb_written apply(struct tb_write *self, struct tb_store *store) {
  struct item *item = (struct item *)self;
  struct world *w = self->owner;
  assert_ptr_equal(store, &w->store);
  assert_false(sqlite3_get_autocommit(store->db)); /* within a transaction */
  if (item->gated) sem_wait(&w->open);
  item->applied_as = w->applied++;
  return TB_WRITTEN_STORED;
}

static void done(struct tb_write *self) {
  struct world *w = self->owner;
  if (!sqlite3_get_autocommit(w->store.db)) abort(); /* before its commit */
  w->told++;
  sem_post(&w->done);
}

static void ended(void *self) {
  struct world *w = self;
  w->ends++;
  w->told_at_end = w->told;
}

static void put(struct world *w, struct item *items, int count, bool gated) {
  for (int i = 0; i < count; i++) {
    items[i] =
        (struct item){.write = {.apply = apply, .done = done, .owner = w}, .gated = gated && !i, .number = i};
    tb_writer_put(w->writer, &items[i].write);
  }
}

/* What comes while one is written is the next group, in its order; each is told once, and the end of each
 * group behind its items. A lone one behind a large group waits for others, and then goes without them; so do
 * those that are there when the writer is stopped. */
static void test_groups(void **state) {
  static struct item first[1], items[MANY], lone[1], last[3];
  struct world w = {0};
  struct tc_error err;
  (void)state;
  assert_int_equal(tb_store_open(&w.store, ":memory:", TB_STORE_WRITE, 256, &err), TC_OK);
  sem_init(&w.open, 0, 0);
  sem_init(&w.done, 0, 0);
  w.writer = tb_writer_start(&w.store);
  assert_non_null(w.writer);
  tb_writer_on_end(w.writer, ended, &w);
  put(&w, first, 1, true);
  while (tb_writer_waiting(w.writer)) usleep(100); /* it is being written, and is held up */
  put(&w, items, MANY, false);
  assert_int_equal(tb_writer_waiting(w.writer), MANY);
  sem_post(&w.open);
  for (int i = 0; i < 1 + MANY; i++) sem_wait(&w.done);
  put(&w, lone, 1, false);
  sem_wait(&w.done);
  put(&w, last, 3, false);
  tb_writer_stop(w.writer);
  assert_int_equal(w.told, 1 + MANY + 1 + 3);
  assert_int_equal(w.told_at_end, w.told);
  assert_in_range(w.ends, 4, 6);
  assert_int_equal(first[0].applied_as, 0);
  for (int i = 0; i < MANY; i++) assert_int_equal(items[i].applied_as, 1 + i);
  assert_int_equal(lone[0].applied_as, 1 + MANY);
  sem_destroy(&w.open);
  sem_destroy(&w.done);
  tb_store_close(&w.store);
}

/* --- failures --- */

struct outcome {
  struct tb_write write;
  sem_t done;
};

static enum tb_written no_room(struct tb_write *self, struct tb_store *store) {
  (void)self;
  snprintf(store->error, sizeof store->error, "there is no room");
  return TB_WRITTEN_FAILED;
}

static enum tb_written no_trouble(struct tb_write *self, struct tb_store *store) {
  return (void)self, (void)store, TB_WRITTEN_STORED;
}

static void is_told(struct tb_write *self) { sem_post(&((struct outcome *)self)->done); }

/* A group of one; whether it was stored, and what the writer counts of it. */
static struct tb_writer_counts write_one(struct tb_writer *writer, bool good) {
  struct outcome one = {.write = {.apply = good ? no_trouble : no_room, .done = is_told}};
  const uint64_t before = tb_writer_counts(writer).groups;
  struct tb_writer_counts counts;
  sem_init(&one.done, 0, 0);
  tb_writer_put(writer, &one.write);
  sem_wait(&one.done);
  sem_destroy(&one.done);
  assert_int_equal(one.write.written, good ? TB_WRITTEN_STORED : TB_WRITTEN_FAILED);
  for (int rounds = 0; (counts = tb_writer_counts(writer)).groups == before && rounds < 60000; rounds++)
    usleep(1000); /* it counts once it has told */
  assert_int_equal(counts.groups, before + 1);
  return counts;
}

/* That nothing can be stored is known while it is so, with the reason; standard error is told once, and once
 * that it is over. */
static void test_failures(void **state) {
  static const bool good[] = {true, false, false, false, true, true, false, true};
  char told[512] = "";
  struct tb_store store;
  struct tc_error err;
  (void)state;
  assert_int_equal(tb_store_open(&store, ":memory:", TB_STORE_WRITE, 256, &err), TC_OK);
  FILE *file = tmpfile();
  assert_non_null(file);
  const int before = dup(STDERR_FILENO);
  assert_true(before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
  struct tb_writer *writer = tb_writer_start(&store);
  bool known = writer != NULL;
  for (size_t i = 0; writer && i < sizeof good / sizeof *good; i++) {
    const struct tb_writer_counts counts = write_one(writer, good[i]);
    known = known && counts.failing == !good[i] && (good[i] || !strcmp(counts.error, "there is no room"));
  }
  if (writer) tb_writer_stop(writer);
  fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  rewind(file);
  told[fread(told, 1, sizeof told - 1, file)] = '\0';
  fclose(file);
  tb_store_close(&store);
  assert_true(known);
  assert_string_equal(
      told,
      "tbench serve: nothing can be stored: there is no room\ntbench serve: results are stored again\n"
      "tbench serve: nothing can be stored: there is no room\ntbench serve: results are stored again\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_log), cmocka_unit_test(test_groups),
                                     cmocka_unit_test(test_failures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
