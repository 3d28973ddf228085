/* What is done each second: tokens are read again (they may have been made or removed meanwhile), and what is too old is removed, in
 * portions, so that documents that come meanwhile do not wait long. */
#include <stdio.h>
#include <stdlib.h>

#include "dashboard/server.h"

enum { PORTION = 500 };
static const int64_t day_ms = 24LL * 3600 * 1000;

struct removal { struct tb_write write; int64_t before; };

static bool run_two(struct tb_store *store, enum tb_statement which, int64_t first, int64_t second) {
  sqlite3_stmt *statement = tb_store_get(store, which);
  if (!statement) return false;
  sqlite3_bind_int64(statement, 1, first);
  if (sqlite3_bind_parameter_count(statement) > 1) sqlite3_bind_int64(statement, 2, second);
  if (sqlite3_bind_parameter_count(statement) > 2) sqlite3_bind_int64(statement, 3, PORTION);
  return tb_store_run(store, statement);
}

/* 0: there is none. */
static int64_t old_series(struct tb_store *store, int64_t before) {
  sqlite3_stmt *find = tb_store_get(store, TB_SQL_OLD_SERIES);
  if (!find) return 0;
  sqlite3_bind_int64(find, 1, before);
  const int64_t series = sqlite3_step(find) == SQLITE_ROW ? sqlite3_column_int64(find, 0) : 0;
  tb_store_done(find);
  return series;
}

/* Series that hold nothing any more go, with their id: it may be in the writer's memory of names. */
static bool remove_points(struct tb_store *store, int64_t series, int64_t before) {
  if (!run_two(store, TB_SQL_OLD_POINTS, series, before)) return false;
  const int removed = sqlite3_changes(store->db);
  if (!run_two(store, TB_SQL_OLD_CHANGES, series, before) || !run_two(store, TB_SQL_SHRINK_SERIES, series, removed)) return false;
  if (!run_two(store, TB_SQL_DROP_SERIES, series, 0)) return false;
  if (sqlite3_changes(store->db)) tb_names_forget(store);
  store->more_points -= removed;
  return true;
}

static enum tb_written apply(struct tb_write *self, struct tb_store *store) {
  const struct removal *removal = (const struct removal *)self;
  const int64_t series = old_series(store, removal->before);
  if (!run_two(store, TB_SQL_OLD_DOCUMENTS, removal->before, PORTION)) return TB_WRITTEN_FAILED;
  store->more_documents -= sqlite3_changes(store->db);
  return !series || remove_points(store, series, removal->before) ? TB_WRITTEN_STORED : TB_WRITTEN_FAILED;
}

static void done(struct tb_write *self) { free(self); }

/* Whether anything is older than that. */
static bool has_old(struct tb_store *reader, int64_t before) {
  sqlite3_stmt *newest = NULL;
  bool found = old_series(reader, before) != 0;
  if (!found && sqlite3_prepare_v2(reader->db, "SELECT 1 FROM documents WHERE started < ? LIMIT 1", -1, &newest, NULL) == SQLITE_OK) {
    sqlite3_bind_int64(newest, 1, before);
    found = sqlite3_step(newest) == SQLITE_ROW;
  }
  sqlite3_finalize(newest);
  return found;
}

void tb_upkeep(struct tb_server *server, struct tb_store *reader) {
  tb_auth_load(&server->auth, reader);
  if (!server->settings->retain) return;
  const int64_t before = tb_now_ms() - server->settings->retain * day_ms;
  enum { PORTIONS = 20 }; /* a second */
  for (int i = 0; i < PORTIONS && has_old(reader, before); i++) {
    struct removal *removal = calloc(1, sizeof *removal);
    if (!removal) return;
    *removal = (struct removal){.write = {.apply = apply, .done = done}, .before = before};
    tb_writer_put(server->writer, &removal->write);
  }
}
