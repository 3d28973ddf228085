/* Opening of the database, its statements, and small numbers kept in it. */
#include "dashboard/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dashboard/store/migrate.h"
#include "dashboard/store/name_cache.h"
#include "dashboard/store/unpack.h"
#include "results/rfc3339.h"

const struct tb_field *tb_figure_field(enum tb_figure figure) {
  int i = 0;
  while (!tb_field_at(i)->column.name || tb_field_at(i)->column.place != (int)figure) i++;
  return tb_field_at(i);
}
const char *tb_figure_name(enum tb_figure figure) { return tb_figure_field(figure)->column.name; }
const char *tb_figure_path(enum tb_figure figure) { return tb_figure_field(figure)->path; }
const char *tb_figure_meaning(enum tb_figure figure) { return tb_figure_field(figure)->column.meaning; }

static const char *const statements[] = {
#define TB_STATEMENT(NAME, sql) sql,
#include "dashboard/store/statements.def"
#undef TB_STATEMENT
};

/* --- statements --- */

/* Where FIGURES and MARKS stand, all columns and as many marks. In `out`. */
static bool expand(const char *sql, struct tc_strbuf *out) {
  static const char columns[] = "FIGURES", marks[] = "MARKS";
  for (const char *at = sql; *at;) {
    const bool of_columns = !strncmp(at, columns, strlen(columns)),
               of_marks = !strncmp(at, marks, strlen(marks));
    if (!of_columns && !of_marks) {
      tc_strbuf_bytes(out, at++, 1);
      continue;
    }
    for (int i = 0; i < TB_FIGURE_COUNT; i++)
      tc_strbuf_printf(out, "%s%s", i ? "," : "", of_columns ? tb_figure_name((enum tb_figure)i) : "?");
    at += strlen(of_columns ? columns : marks);
  }
  return tc_strbuf_text(out) != NULL;
}

bool tb_store_failed(struct tb_store *store, const char *what) {
  const int code = store->db ? sqlite3_errcode(store->db) : SQLITE_NOMEM;
  snprintf(store->error, sizeof store->error, "%s: %s", what,
           store->db ? sqlite3_errmsg(store->db) : "out of memory");
  store->failed = code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_ERROR : code;
  return false;
}

bool tb_store_step(struct tb_store *store, sqlite3_stmt *rows) {
  if (!rows) return false;
  const int status = sqlite3_step(rows);
  return status == SQLITE_ROW || (status != SQLITE_DONE && tb_store_failed(store, "reading"));
}

sqlite3_stmt *tb_store_get(struct tb_store *store, enum tb_statement which) {
  if (store->statements[which]) return store->statements[which];
  struct tc_strbuf sql;
  tc_strbuf_init(&sql, tc_alloc_system());
  if (!expand(statements[which], &sql) ||
      sqlite3_prepare_v3(store->db, sql.data, -1, SQLITE_PREPARE_PERSISTENT, &store->statements[which],
                         NULL) != SQLITE_OK)
    tb_store_failed(store, "the database");
  tc_strbuf_free(&sql);
  return store->statements[which];
}

bool tb_store_run(struct tb_store *store, sqlite3_stmt *statement) {
  if (!statement) return false;
  const int status = sqlite3_step(statement);
  const bool good = status == SQLITE_DONE || status == SQLITE_ROW || tb_store_failed(store, "the database");
  tb_store_done(statement);
  return good;
}

bool tb_store_execute(struct tb_store *store, const char *sql) {
  struct tc_strbuf whole;
  tc_strbuf_init(&whole, tc_alloc_system());
  const bool good =
      (expand(sql, &whole) && sqlite3_exec(store->db, whole.data, NULL, NULL, NULL) == SQLITE_OK) ||
      tb_store_failed(store, "the database");
  tc_strbuf_free(&whole);
  return good;
}

/* --- opening --- */

enum { BUSY_MS = 10000 };

/* Of processes that turn a new file's log on together, SQLite lets all but one fail at once instead of
 * waiting. */
static bool set_up(struct tb_store *store, const char *settings) {
  enum { PAUSE_MS = 5 };
  const int64_t end = tb_now_ms() + BUSY_MS;
  bool good;
  while (!(good = tb_store_execute(store, settings)) && store->failed == SQLITE_BUSY && tb_now_ms() < end)
    sqlite3_sleep(PAUSE_MS);
  return good;
}

tc_status tb_store_open(struct tb_store *store, const char *path, enum tb_store_use use, int cache_kib,
                        struct tc_error *err) {
  enum { CHECKPOINT_PAGES = 4000, JOURNAL_BYTES = 64 << 20 };
  char settings[256];
  *store = (struct tb_store){0};
  const int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (use == TB_STORE_WRITE ? SQLITE_OPEN_CREATE : 0);
  if (sqlite3_open_v2(path, &store->db, flags, NULL) != SQLITE_OK) {
    const tc_status status = tc_fail(err, TC_IO, "store", "%s cannot be opened: %s", path,
                                     store->db ? sqlite3_errmsg(store->db) : "out of memory");
    tb_store_close(store);
    return status;
  }
  sqlite3_busy_timeout(store->db, BUSY_MS);
  sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
  sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
  snprintf(settings, sizeof settings,
           "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-%d; PRAGMA "
           "wal_autocheckpoint=%d; PRAGMA journal_size_limit=%d;%s",
           cache_kib, CHECKPOINT_PAGES, JOURNAL_BYTES, use == TB_STORE_READ ? " PRAGMA query_only=1;" : "");
  int64_t version;
  tc_status status = tb_check_version(store, path, &version, err); /* a file of others stays as it is */
  if (status == TC_OK && !set_up(store, settings))
    status = tc_fail(err, TC_IO, "store", "%s: %s", path, store->error);
  if (status == TC_OK) status = tb_migrate(store, path, use, err);
  if (status == TC_OK && use == TB_STORE_WRITE && !tb_name_cache_open(store))
    status = tc_fail_memory(err, "store");
  if (status != TC_OK) tb_store_close(store);
  return status;
}

void tb_store_close(struct tb_store *store) {
  for (int i = 0; i < TB_STATEMENT_COUNT; i++) sqlite3_finalize(store->statements[i]);
  tb_name_cache_close(store);
  tb_unpack_close(store);
  sqlite3_close(store->db);
  *store = (struct tb_store){0};
}

/* --- meta --- */

int64_t tb_store_meta(struct tb_store *store, const char *name) {
  sqlite3_stmt *get = tb_store_get(store, TB_SQL_GET_META);
  if (!get) return 0;
  sqlite3_bind_text(get, 1, name, -1, SQLITE_STATIC);
  const int64_t value = tb_store_step(store, get) ? sqlite3_column_int64(get, 0) : 0;
  tb_store_done(get);
  return value;
}

bool tb_store_set_meta(struct tb_store *store, const char *name, int64_t value, bool add) {
  sqlite3_stmt *set = tb_store_get(store, add ? TB_SQL_ADD_META : TB_SQL_SET_META);
  if (!set) return false;
  sqlite3_bind_text(set, 1, name, -1, SQLITE_STATIC);
  sqlite3_bind_int64(set, 2, value);
  return tb_store_run(store, set);
}

/* --- times --- */

int64_t tb_now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool tb_time_parse(const char *text, int64_t *ms) {
  enum { S_MS = 1000, MS_NS = 1000000 };
  struct tb_time time;
  if (!tb_time_read(text, strlen(text), &time)) return false;
  *ms = time.seconds * S_MS + time.nanoseconds / MS_NS;
  return true;
}

void tb_time_text(int64_t ms, char *out, size_t size) {
  const time_t seconds = (time_t)((ms - (ms % 1000 + 1000) % 1000) / 1000);
  struct tm tm;
  if (!gmtime_r(&seconds, &tm) || !strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &tm)) snprintf(out, size, "?");
}

const char *tb_column_text(sqlite3_stmt *row, int column) {
  return (const char *)sqlite3_column_text(row, column);
}
