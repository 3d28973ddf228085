/* What is done each second: tokens are read again (they may have been made or removed meanwhile), and what is too old is removed.
 *
 * Removals are portions: one is in the writer's hands at a time, and the next one is put when it is done. So a group has one of them at most, documents
 * that come meanwhile do not wait long, and nothing piles up in front of a slow disk. */
#include <stdio.h>
#include <stdlib.h>

#include "dashboard/server.h"

enum { PORTION = 500 /* documents, and points */, PORTIONS = 20 /* a second */ };
static const int64_t day_ms = 24LL * 3600 * 1000;

struct removal {
  struct tb_write write; /* its owner is the server */
  int64_t before;
  int portions; /* that may still be put */
  bool more;    /* this one was full: there may be more */
};

/* Runs a statement with as many of these numbers as it takes. */
static bool run_with(struct tb_store *store, enum tb_statement which, const int64_t numbers[3]) {
  sqlite3_stmt *statement = tb_store_get(store, which);
  if (!statement) return false;
  for (int i = 0; i < sqlite3_bind_parameter_count(statement); i++) sqlite3_bind_int64(statement, i + 1, numbers[i]);
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

/* At most `most` points, and the steps that begin at them. Series that hold nothing any more go, with their id: it may be in the writer's memory
 * of names. -1 on failure; else how many points were removed. */
static int remove_points(struct tb_store *store, int64_t series, int64_t before, int most) {
  const int64_t old[] = {series, before, most};
  if (!run_with(store, TB_SQL_OLD_POINTS, old)) return -1;
  const int removed = sqlite3_changes(store->db);
  const int64_t shrink[] = {series, removed, 0};
  if (!run_with(store, TB_SQL_OLD_CHANGES, old) || !run_with(store, TB_SQL_SHRINK_SERIES, shrink) || !run_with(store, TB_SQL_DROP_SERIES, old)) return -1;
  if (sqlite3_changes(store->db)) tb_names_forget(store);
  store->more_points -= removed;
  return removed;
}

static enum tb_written apply(struct tb_write *self, struct tb_store *store) {
  struct removal *removal = (struct removal *)self;
  if (!run_with(store, TB_SQL_OLD_DOCUMENTS, (const int64_t[]){removal->before, PORTION, 0})) return TB_WRITTEN_FAILED;
  const int documents = sqlite3_changes(store->db);
  store->more_documents -= documents;
  removal->more = documents == PORTION;
  for (int left = PORTION; left > 0;) { /* a series counts too, so that the portion is bounded with many of few points */
    const int64_t series = old_series(store, removal->before);
    const int removed = series ? remove_points(store, series, removal->before, left) : 0;
    if (removed < 0) return TB_WRITTEN_FAILED;
    if (!series) break;
    left -= removed + 1;
    if (left <= 0) removal->more = true;
  }
  return TB_WRITTEN_STORED;
}

/* On the writer's thread. What failed is tried again a second later. */
static void done(struct tb_write *self) {
  struct removal *removal = (struct removal *)self;
  struct tb_server *server = self->owner;
  if (self->written == TB_WRITTEN_STORED && removal->more && --removal->portions && !atomic_load(&server->stopping)) {
    tb_writer_put(server->writer, self);
    return;
  }
  free(removal);
  atomic_store(&server->removing, false);
}

/* Whether anything is older than that. */
static bool has_old(struct tb_store *reader, int64_t before) {
  if (old_series(reader, before)) return true;
  sqlite3_stmt *find = tb_store_get(reader, TB_SQL_HAS_OLD_DOCUMENT);
  if (!find) return false;
  sqlite3_bind_int64(find, 1, before);
  const bool found = sqlite3_step(find) == SQLITE_ROW;
  tb_store_done(find);
  return found;
}

int64_t tb_upkeep_edge(const struct tb_settings *settings) { return settings->retain ? tb_now_ms() - settings->retain * day_ms : 0; }

/* Where they cannot be read those that were known stay in force. */
static void read_tokens(struct tb_server *server, struct tb_store *reader) {
  const bool read = tb_auth_load(&server->auth, reader);
  if (!read && !server->tokens_unread) fprintf(stderr, "tbench serve: tokens cannot be read, those from before stay in force: %s\n", reader->error);
  server->tokens_unread = !read;
}

static void remove_old(struct tb_server *server, struct tb_store *reader, int64_t before) {
  if (atomic_load(&server->removing) || !has_old(reader, before)) return;
  struct removal *removal = calloc(1, sizeof *removal);
  if (!removal) return;
  *removal = (struct removal){.write = {.apply = apply, .done = done, .owner = server}, .before = before, .portions = PORTIONS};
  atomic_store(&server->removing, true);
  tb_writer_put(server->writer, &removal->write);
}

void tb_upkeep(struct tb_server *server, struct tb_store *reader) {
  const int64_t before = tb_upkeep_edge(server->settings);
  read_tokens(server, reader);
  if (before) remove_old(server, reader, before);
}
