/* What is done each second: tokens are read again (they may have been made or removed meanwhile), and what is
 * too old is removed.
 *
 * Removals are portions: one is in the writer's hands at a time, and the next one is put when it is done. So
 * a group has one of them at most, documents that come meanwhile do not wait long, and nothing piles up in
 * front of a slow disk. */
#include <stdio.h>
#include <stdlib.h>

#include "dashboard/server/server.h"

enum { PORTION = 500 /* documents, and points */, PORTIONS = 20 /* a second */ };
static const int64_t day_ms = 24LL * 3600 * 1000;

struct removal {
  struct tb_write write; /* its owner is the server */
  int64_t before;
  int portions; /* that may still be put */
  bool more;    /* this one was full: there may be more */
};

/* Machines and commits of what was removed: it may have been the last of theirs. */
struct ids {
  int64_t at[2 * PORTION];
  int count;
};
struct gone {
  struct ids machines, commits;
};

static void note(struct ids *ids, int64_t id) {
  for (int i = 0; i < ids->count; i++)
    if (ids->at[i] == id) return;
  if (ids->count < (int)(sizeof ids->at / sizeof *ids->at)) ids->at[ids->count++] = id;
}

/* A statement with as many of these numbers as it takes. */
static sqlite3_stmt *get_with(struct tb_store *store, enum tb_statement which, const int64_t numbers[3]) {
  sqlite3_stmt *statement = tb_store_get(store, which);
  for (int i = 0; statement && i < sqlite3_bind_parameter_count(statement); i++)
    sqlite3_bind_int64(statement, i + 1, numbers[i]);
  return statement;
}

static bool run_with(struct tb_store *store, enum tb_statement which, const int64_t numbers[3]) {
  return tb_store_run(store, get_with(store, which, numbers));
}

/* Runs a statement that gives the machine, and maybe the commit, of each row that it removes. How many these
 * were; -1 on failure. */
static int remove_with(struct tb_store *store, enum tb_statement which, const int64_t numbers[3],
                       struct gone *gone) {
  sqlite3_stmt *rows = get_with(store, which, numbers);
  int count = 0;
  if (!rows) return -1;
  store->failed = 0;
  for (; tb_store_step(store, rows); count++) {
    note(&gone->machines, sqlite3_column_int64(rows, 0));
    if (sqlite3_column_count(rows) > 1) note(&gone->commits, sqlite3_column_int64(rows, 1));
  }
  tb_store_done(rows);
  return store->failed ? -1 : count;
}

/* 0: there is none; -1 on failure. */
static int64_t old_series(struct tb_store *store, int64_t before) {
  sqlite3_stmt *find = tb_store_get(store, TB_SQL_OLD_SERIES);
  if (!find) return -1;
  sqlite3_bind_int64(find, 1, before);
  store->failed = 0;
  const int64_t series = tb_store_step(store, find) ? sqlite3_column_int64(find, 0) : store->failed ? -1 : 0;
  tb_store_done(find);
  return series;
}

/* At most `most` points, and the steps that begin at them. Series that hold nothing any more go, with their
 * id: it may be in the writer's memory of names. -1 on failure; else how many points were removed. */
static int remove_points(struct tb_store *store, int64_t series, int64_t before, int most,
                         struct gone *gone) {
  const int64_t old[] = {series, before, most};
  if (!run_with(store, TB_SQL_OLD_POINTS, old)) return -1;
  const int removed = sqlite3_changes(store->db);
  const int64_t shrink[] = {series, before, removed};
  if (!run_with(store, TB_SQL_OLD_CHANGES, old) || !run_with(store, TB_SQL_SHRINK_SERIES, shrink)) return -1;
  const int dropped = remove_with(store, TB_SQL_DROP_SERIES, old, gone);
  if (dropped > 0) tb_name_cache_forget(store);
  store->more_points -= removed;
  return dropped < 0 ? -1 : removed;
}

/* Names that nothing has any more go, with their ids. */
static bool drop_names(struct tb_store *store, enum tb_statement which, const struct ids *ids) {
  for (int i = 0; i < ids->count; i++) {
    if (!run_with(store, which, (const int64_t[]){ids->at[i], 0, 0})) return false;
    if (sqlite3_changes(store->db)) tb_name_cache_forget(store);
  }
  return true;
}

/* Points first: no point and no step is of a commit whose documents are gone, so that a commit goes with the
 * last of them. -1 on failure; else how much of the portion is left. */
static int remove_all_points(struct tb_store *store, int64_t before, struct gone *gone) {
  int left = PORTION;
  int64_t series;
  while (left > 0 &&
         (series = old_series(store, before)) !=
             0) { /* a series counts too, so that the portion is bounded with many of few points */
    const int removed = series < 0 ? -1 : remove_points(store, series, before, left, gone);
    if (removed < 0) return -1;
    left = left > removed + 1 ? left - removed - 1 : 0;
  }
  return left;
}

static enum tb_written apply(struct tb_write *self, struct tb_store *store) {
  struct removal *removal = (struct removal *)self;
  struct gone gone = {.machines.count = 0};
  if (!tb_store_flush_group(store))
    return TB_WRITTEN_FAILED; /* a commit that goes may give its id to the next one */
  const int left = remove_all_points(store, removal->before, &gone);
  const int documents = left > 0 ? remove_with(store, TB_SQL_OLD_DOCUMENTS,
                                               (const int64_t[]){removal->before, PORTION, 0}, &gone)
                                 : 0;
  if (left < 0 || documents < 0) return TB_WRITTEN_FAILED;
  store->more_documents -= documents;
  removal->more = !left || documents == PORTION;
  return drop_names(store, TB_SQL_DROP_COMMIT, &gone.commits) &&
                 drop_names(store, TB_SQL_DROP_MACHINE, &gone.machines)
             ? TB_WRITTEN_STORED
             : TB_WRITTEN_FAILED;
}

/* On the writer's thread. What failed is tried again a second later. */
static void done(struct tb_write *self) {
  struct removal *removal = (struct removal *)self;
  struct tb_server *server = self->owner;
  if (self->written == TB_WRITTEN_STORED && removal->more && --removal->portions &&
      !atomic_load(&server->stopping)) {
    tb_writer_put(server->writer, self);
    return;
  }
  free(removal);
  atomic_store(&server->removing, false);
}

/* Whether anything is older than that. */
static bool has_old(struct tb_store *reader, int64_t before) {
  if (old_series(reader, before) > 0) return true;
  sqlite3_stmt *find = tb_store_get(reader, TB_SQL_HAS_OLD_DOCUMENT);
  if (!find) return false;
  sqlite3_bind_int64(find, 1, before);
  const bool found = sqlite3_step(find) == SQLITE_ROW;
  tb_store_done(find);
  return found;
}

int64_t tb_retention_edge(const struct tb_settings *settings) {
  return settings->retain ? tb_now_ms() - settings->retain * day_ms : 0;
}

/* Where they cannot be read those that were known stay in force. */
static void read_tokens(struct tb_server *server, struct tb_store *reader) {
  const bool read = tb_auth_load(&server->auth, reader);
  if (!read && !server->tokens_unread)
    fprintf(stderr, "tbench serve: tokens cannot be read; the earlier ones stay valid: %s\n", reader->error);
  server->tokens_unread = !read;
}

static void remove_old(struct tb_server *server, struct tb_store *reader, int64_t before) {
  if (atomic_load(&server->removing) || !has_old(reader, before)) return;
  struct removal *removal = calloc(1, sizeof *removal);
  if (!removal) return;
  *removal = (struct removal){
      .write = {.apply = apply, .done = done, .owner = server}, .before = before, .portions = PORTIONS};
  atomic_store(&server->removing, true);
  tb_writer_put(server->writer, &removal->write);
}

void tb_maintenance(struct tb_server *server, struct tb_store *reader) {
  const int64_t before = tb_retention_edge(server->settings);
  read_tokens(server, reader);
  if (before) remove_old(server, reader, before);
}
