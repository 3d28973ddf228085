/* Opening of the database, its statements, and small numbers kept in it. */
#include "dashboard/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dashboard/store/name_cache.h"
#include "dashboard/store/unpack.h"
#include "reporters/text_out.h"

static const struct {
  const char *column, *path, *meaning;
} figures[] = {
#define TB_FIGURE(column, path, meaning) {#column, path, meaning},
#include "dashboard/store/figures.def"
#undef TB_FIGURE
};
const char *tb_figure_name(enum tb_figure figure) { return figures[figure].column; }
const char *tb_figure_path(enum tb_figure figure) { return figures[figure].path; }
const char *tb_figure_meaning(enum tb_figure figure) { return figures[figure].meaning; }

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
      tc_strbuf_printf(out, "%s%s", i ? "," : "", of_columns ? figures[i].column : "?");
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

/* --- opening --- */

static bool execute(struct tb_store *store, const char *sql) {
  return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
         tb_store_failed(store, "the database");
}

static bool make_tables(struct tb_store *store) {
  static const unsigned char text[] = {
#include "dashboard/store/tables.sql.inc"
      0};
  struct tc_strbuf sql;
  tc_strbuf_init(&sql, tc_alloc_system());
  bool good = expand((const char *)text, &sql) && execute(store, "BEGIN IMMEDIATE");
  if (good)
    good = execute(store, sql.data) && tb_store_set_meta(store, "version", TB_STORE_VERSION, false) &&
           execute(store, "COMMIT");
  tc_strbuf_free(&sql);
  return good;
}

/* What makes tables of version n those of n + 1. */
static const char *const steps[TB_STORE_VERSION] = {
    /* Dictionaries are larger, and more of them, than what knows version 1 alone can read. Series are
     * analysed anew. */
    [1] = "ALTER TABLE points RENAME COLUMN pays_off TO pays_off_calls; ALTER TABLE points RENAME COLUMN "
          "bytes_moved TO moved;"
          "ALTER TABLE points RENAME COLUMN peak_bytes TO peak; ALTER TABLE points RENAME COLUMN code_bytes "
          "TO code;"
          "ALTER TABLE series ADD COLUMN point_verdict INTEGER; ALTER TABLE series ADD COLUMN point_move "
          "REAL; ALTER TABLE series ADD COLUMN point_p REAL;"
          "ALTER TABLE series ADD COLUMN point_error REAL; ALTER TABLE series ADD COLUMN point_freedom REAL; "
          "ALTER TABLE series ADD COLUMN point_started INTEGER;"
          "ALTER TABLE series ADD COLUMN point_commit INTEGER; ALTER TABLE series ADD COLUMN step_move REAL; "
          "ALTER TABLE series ADD COLUMN step_lo REAL;"
          "ALTER TABLE series ADD COLUMN step_hi REAL; ALTER TABLE series ADD COLUMN step_started INTEGER; "
          "ALTER TABLE series ADD COLUMN step_commit INTEGER;"
          "UPDATE series SET dirty = coalesce(dirty, latest_started), score = 0;",
    /* What is open is counted for each first page, however many steps there were. */
    [2] = "CREATE INDEX changes_open ON changes(started) WHERE slower = 1 AND closed IS NULL;",
    /* Runs that were not right lose their figures, and what was found in those is looked at anew; since when
     * they fail, when commits were last measured, and what is of many machines is counted. */
    [3] = "UPDATE points SET value = NULL, steady = NULL, steady_p05 = NULL, steady_p95 = NULL, baseline = "
          "NULL, speedup = NULL, speedup_lo = NULL, speedup_hi = NULL, noise_floor = NULL,"
          " cold = NULL, disk = NULL, memory = NULL, first_call = NULL, pays_off_calls = NULL, kernels = "
          "NULL, graphs = NULL, moved = NULL, peak = NULL, code = NULL, instructions = NULL"
          " WHERE outcome <> 0;"
          "UPDATE series SET latest_steady = NULL, latest_speedup = NULL, latest_lo = NULL, latest_hi = "
          "NULL, latest_cold = NULL WHERE latest_outcome <> 0;"
          "UPDATE series SET dirty = coalesce(dirty, latest_started) WHERE id IN (SELECT series FROM points "
          "WHERE outcome <> 0);"
          "ALTER TABLE series ADD COLUMN outcome_started INTEGER;"
          "UPDATE series SET outcome_started = (SELECT min(p.started) FROM points p WHERE p.series = "
          "series.id AND p.started > coalesce((SELECT max(q.started) FROM points q"
          " WHERE q.series = series.id AND q.outcome <> series.latest_outcome AND q.started < "
          "series.latest_started), -9223372036854775807));"
          "CREATE INDEX series_failing ON series(outcome_started) WHERE latest_outcome > 0 AND "
          "latest_outcome <> 5;"
          "ALTER TABLE commits ADD COLUMN latest_started INTEGER;"
          "UPDATE commits SET latest_started = d.newest FROM (SELECT commit_id, max(started) AS newest FROM "
          "documents GROUP BY commit_id) d WHERE d.commit_id = commits.id;"
          "CREATE INDEX commits_latest ON commits(latest_started) WHERE latest_started IS NOT NULL;"
          "ALTER TABLE documents ADD COLUMN machines INTEGER NOT NULL DEFAULT 1;"
          "UPDATE documents SET machines = 2 WHERE id IN (SELECT p.document FROM points p JOIN series s ON "
          "s.id = p.series JOIN documents d ON d.id = p.document WHERE d.machine <> s.machine);"
          "CREATE INDEX documents_machines ON documents(commit_id) WHERE machines > 1;",
};

static bool take_over(struct tb_store *store, int64_t version) {
  bool good = execute(store, "BEGIN IMMEDIATE");
  for (; good && version < TB_STORE_VERSION; version++) good = execute(store, steps[version]);
  good = good && tb_store_set_meta(store, "version", TB_STORE_VERSION, false) && execute(store, "COMMIT");
  if (!good && !sqlite3_get_autocommit(store->db)) sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  return good;
}

/* 0: an empty file; -1: not a database of ours, and store->error says why. */
static int64_t version_of(struct tb_store *store) {
  sqlite3_stmt *any = NULL;
  int64_t version = -1;
  if (sqlite3_prepare_v2(store->db,
                         "SELECT count(*), sum(name = 'meta' AND type = 'table') FROM sqlite_schema", -1,
                         &any, NULL) != SQLITE_OK ||
      sqlite3_step(any) != SQLITE_ROW) {
    tb_store_failed(store, "the database");
  } else if (sqlite3_column_int64(any, 0) == 0) {
    version = 0;
  } else {
    snprintf(store->error, sizeof store->error, "its tables are those of something else");
    if (sqlite3_column_int64(any, 1) == 1) version = tb_store_meta(store, "version");
    if (version < 1) version = -1; /* a table of that name without it */
  }
  sqlite3_finalize(any);
  return version;
}

static tc_status check_version(struct tb_store *store, const char *path, enum tb_store_use use,
                               struct tc_error *err) {
  const int64_t version = version_of(store);
  if (version == TB_STORE_VERSION) return TC_OK;
  if (version > TB_STORE_VERSION)
    return tc_fail(err, TC_VERSION, "store",
                   "%s was made by a newer tbench (its tables have version %lld, known is %d)", path,
                   (long long)version, TB_STORE_VERSION);
  if (version < 0)
    return tc_fail(err, TC_CORRUPT, "store", "%s cannot be read as a database of tbench serve (%s)", path,
                   store->error);
  if (version && use == TB_STORE_READ)
    return TC_OK; /* for a copy; what reads tables begins after what writes them */
  if (use == TB_STORE_READ)
    return tc_fail(err, TC_IO, "store", "%s is empty: no server has used it yet", path);
  return (version ? take_over(store, version) : make_tables(store))
             ? TC_OK
             : tc_fail(err, TC_IO, "store", "%s: %s", path, store->error);
}

tc_status tb_store_open(struct tb_store *store, const char *path, enum tb_store_use use, int cache_kib,
                        struct tc_error *err) {
  enum { BUSY_MS = 10000, CHECKPOINT_PAGES = 4000, JOURNAL_BYTES = 64 << 20 };
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
  tc_status status =
      execute(store, settings) ? TC_OK : tc_fail(err, TC_IO, "store", "%s: %s", path, store->error);
  if (status == TC_OK) status = check_version(store, path, use, err);
  if (status == TC_OK && use == TB_STORE_WRITE && !tb_name_cache_open(store))
    status = tc_fail(err, TC_NOMEM, "store", "out of memory");
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
