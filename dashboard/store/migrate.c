/* What brings a database's tables to this program's version. */
#include "dashboard/store/migrate.h"

#include <stdio.h>

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
    /* The version itself moves from meta to user_version. */
    [4] = "",
};

static bool make_tables(struct tb_store *store) {
  static const unsigned char tables[] = {
#include "dashboard/store/tables.sql.inc"
      0};
  return tb_store_execute(store, (const char *)tables);
}

/* --- what a file is --- */

/* -1 with store->error. */
static int64_t number_of(struct tb_store *store, const char *sql) {
  sqlite3_stmt *get = NULL;
  int64_t number = -1;
  if (sqlite3_prepare_v2(store->db, sql, -1, &get, NULL) == SQLITE_OK && sqlite3_step(get) == SQLITE_ROW)
    number = sqlite3_column_int64(get, 0);
  else
    tb_store_failed(store, "the database");
  sqlite3_finalize(get);
  return number;
}

/* 0: an empty file; -1: not a database of ours, and store->error says why. Programs before version 5 have the
 * version in meta alone, and look at it there. So it stays there too, and what lacks it is not ours, for
 * others use user_version as well. */
static int64_t version_of(struct tb_store *store) {
  const int64_t tables = number_of(store, "SELECT count(*) FROM sqlite_schema");
  if (tables <= 0) return tables;
  const int64_t version = number_of(store, "SELECT user_version FROM pragma_user_version");
  const bool has_meta =
      number_of(store, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'meta'") == 1;
  snprintf(store->error, sizeof store->error, "its tables are those of something else");
  const int64_t in_meta = has_meta ? tb_store_meta(store, "version") : 0;
  return in_meta < 1 || version < 0 ? -1 : version ? version : in_meta;
}

tc_status tb_check_version(struct tb_store *store, const char *path, int64_t *version, struct tc_error *err) {
  *version = version_of(store);
  if (*version > TB_STORE_VERSION)
    return tc_fail(
        err, TC_VERSION, "store",
        "%s was made by a newer tbench (its tables have version %lld, known is %d): use that tbench, "
        "or with db= another file, such as a copy from before the upgrade",
        path, (long long)*version, TB_STORE_VERSION);
  if (*version < 0)
    return tc_fail(err, TC_CORRUPT, "store", "%s cannot be read as a database of tbench serve (%s)", path,
                   store->error);
  return TC_OK;
}

/* --- columns of figures --- */

static bool has_column(struct tb_store *store, enum tb_figure figure) {
  sqlite3_stmt *find = tb_store_get(store, TB_SQL_FIND_COLUMN);
  if (!find) return false;
  sqlite3_bind_text(find, 1, tb_figure_name(figure), -1, SQLITE_STATIC);
  const bool found = tb_store_step(store, find);
  tb_store_done(find);
  return found;
}

static bool has_all_columns(struct tb_store *store) {
  for (int i = 0; i < TB_FIGURE_COUNT; i++)
    if (!has_column(store, (enum tb_figure)i)) return false;
  return true;
}

static bool add_columns(struct tb_store *store) {
  char sql[128];
  bool good = true;
  for (int i = 0; good && i < TB_FIGURE_COUNT; i++) {
    if (has_column(store, (enum tb_figure)i)) continue;
    snprintf(sql, sizeof sql, "ALTER TABLE points ADD COLUMN %s", tb_figure_name((enum tb_figure)i));
    good = tb_store_execute(store, sql);
  }
  return good;
}

/* --- the change --- */

/* Within a transaction. */
static bool change_tables(struct tb_store *store, int64_t version) {
  char mark[64];
  snprintf(mark, sizeof mark, "PRAGMA user_version = %d", TB_STORE_VERSION);
  bool good = version || make_tables(store);
  for (; good && version && version < TB_STORE_VERSION; version++)
    good = tb_store_execute(store, steps[version]);
  return good && add_columns(store) && tb_store_set_meta(store, "version", TB_STORE_VERSION, false) &&
         tb_store_execute(store, mark);
}

tc_status tb_migrate(struct tb_store *store, const char *path, enum tb_store_use use, struct tc_error *err) {
  int64_t version;
  tc_status status = tb_check_version(store, path, &version, err);
  if (status) return status;
  if (use == TB_STORE_READ) /* for a copy; what reads tables begins after what writes them */
    return version ? TC_OK : tc_fail(err, TC_IO, "store", "%s is empty: no server has used it yet", path);
  if (version == TB_STORE_VERSION && has_all_columns(store)) return TC_OK;
  if (!tb_store_execute(store, "BEGIN IMMEDIATE"))
    return tc_fail(err, TC_IO, "store", "%s: %s", path, store->error);
  status = tb_check_version(store, path, &version, err); /* another process may have changed it meanwhile */
  if (!status && !(change_tables(store, version) && tb_store_execute(store, "COMMIT")))
    status = tc_fail(err, TC_IO, "store", "%s: %s", path, store->error);
  if (!sqlite3_get_autocommit(store->db)) sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  return status;
}
