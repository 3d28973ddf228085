/* Commits, machines and series by their names. */
#include "dashboard/store/name_cache.h"

#include <stdlib.h>
#include <string.h>

enum { SERIES_PLACES = 16384, OTHER_PLACES = 256 };

struct place {
  char *name;
  int64_t owner, id;
};
struct tb_name_cache {
  size_t places;
  struct place at[];
};

static struct tb_name_cache *new_names(size_t places) {
  struct tb_name_cache *names = calloc(1, sizeof *names + places * sizeof *names->at);
  if (names) names->places = places;
  return names;
}

static void empty(struct tb_name_cache *names) {
  for (size_t i = 0; names && i < names->places; i++) {
    free(names->at[i].name);
    names->at[i] = (struct place){0};
  }
}

bool tb_name_cache_open(struct tb_store *store) {
  store->commits = new_names(OTHER_PLACES);
  store->machines = new_names(OTHER_PLACES);
  store->series = new_names(SERIES_PLACES);
  return store->commits && store->machines && store->series;
}

void tb_store_forget(struct tb_store *store) {
  store->more_documents = store->more_points = store->n_measured = 0;
  tb_name_cache_forget(store);
}

void tb_name_cache_forget(struct tb_store *store) {
  empty(store->commits);
  empty(store->machines);
  empty(store->series);
}

void tb_name_cache_close(struct tb_store *store) {
  tb_store_forget(store);
  free(store->commits);
  free(store->machines);
  free(store->series);
}

struct naming {
  enum tb_statement find, add;
};

static void bind(sqlite3_stmt *statement, const char *name, int64_t owner) {
  sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
  if (owner) sqlite3_bind_int64(statement, 2, owner);
}

static int64_t ask(struct tb_store *store, struct naming naming, const char *name, int64_t owner) {
  sqlite3_stmt *find = tb_store_get(store, naming.find), *add;
  if (!find) return -1;
  bind(find, name, owner);
  const int status = sqlite3_step(find);
  int64_t id = status == SQLITE_ROW ? sqlite3_column_int64(find, 0) : -1;
  if (status != SQLITE_ROW && status != SQLITE_DONE) tb_store_failed(store, "looking for a name");
  tb_store_done(find);
  if (status != SQLITE_DONE || !(add = tb_store_get(store, naming.add))) return id;
  bind(add, name, owner);
  return tb_store_run(store, add) ? sqlite3_last_insert_rowid(store->db) : -1;
}

static int64_t id_of(struct tb_store *store, struct tb_name_cache *names, struct naming naming,
                     const char *name, int64_t owner) {
  struct place *place = &names->at[tc_hash_bytes((uint64_t)owner, name, strlen(name)) & (names->places - 1)];
  if (place->name && place->owner == owner && !strcmp(place->name, name)) return place->id;
  const int64_t id = ask(store, naming, name, owner);
  char *copy = id >= 0 ? strdup(name) : NULL;
  if (!copy) return id;
  free(place->name);
  *place = (struct place){copy, owner, id};
  return id;
}

int64_t tb_store_commit_id(struct tb_store *store, const char *name) {
  return id_of(store, store->commits, (struct naming){TB_SQL_FIND_COMMIT, TB_SQL_ADD_COMMIT}, name, 0);
}

int64_t tb_store_machine_id(struct tb_store *store, const char *name) {
  return id_of(store, store->machines, (struct naming){TB_SQL_FIND_MACHINE, TB_SQL_ADD_MACHINE}, name, 0);
}

int64_t tb_store_series_id(struct tb_store *store, const char *name, int64_t machine) {
  return id_of(store, store->series, (struct naming){TB_SQL_FIND_SERIES, TB_SQL_ADD_SERIES}, name, machine);
}
