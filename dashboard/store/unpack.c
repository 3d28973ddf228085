/* Documents out of the database. */
#include "dashboard/store/unpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

bool tb_store_dictionary(struct tb_store *store, int64_t *id, char *out, size_t *length) {
  sqlite3_stmt *get = tb_store_get(store, TB_SQL_NEWEST_DICTIONARY);
  bool found = false;
  if (tb_store_step(store, get)) {
    *id = sqlite3_column_int64(get, 0);
    const int bytes = sqlite3_column_bytes(get, 1);
    found = bytes > 0 && bytes <= TB_STORE_DICTIONARY;
    if (found) memcpy(out, sqlite3_column_blob(get, 1), *length = (size_t)bytes);
  }
  if (get) tb_store_done(get);
  return found;
}

bool tb_store_add_dictionary(struct tb_store *store, const void *bytes, size_t length, int64_t *id) {
  sqlite3_stmt *add = tb_store_get(store, TB_SQL_ADD_DICTIONARY);
  if (!add) return false;
  sqlite3_bind_blob64(add, 1, bytes, length, SQLITE_STATIC);
  if (!tb_store_run(store, add)) return false;
  *id = sqlite3_last_insert_rowid(store->db);
  return true;
}

void tb_unpack_close(struct tb_store *store) {
  ZSTD_freeDCtx(store->unpack);
  for (int i = 0; i < TB_STORE_DICTIONARIES; i++) ZSTD_freeDDict(store->dictionaries[i]);
}

/* NULL with store->error. A file has few of them: one for each schema that it was written with. */
static const ZSTD_DDict *dictionary_of(struct tb_store *store, int64_t id) {
  if (id < 1 || id > TB_STORE_DICTIONARIES)
    return tb_store_failed(store, "a document names a dictionary that cannot be"), NULL;
  void **place = &store->dictionaries[id - 1];
  sqlite3_stmt *get = *place ? NULL : tb_store_get(store, TB_SQL_GET_DICTIONARY);
  if (get) {
    sqlite3_bind_int64(get, 1, id);
    if (tb_store_step(store, get))
      *place = ZSTD_createDDict(sqlite3_column_blob(get, 0), (size_t)sqlite3_column_bytes(get, 0));
    tb_store_done(get);
  }
  if (!*place) tb_store_failed(store, "a dictionary cannot be read");
  return *place;
}

char *tb_store_unpack(struct tb_store *store, sqlite3_stmt *row, int first_column, size_t *length) {
  const size_t bytes = (size_t)sqlite3_column_int64(row, first_column);
  const ZSTD_DDict *dictionary = dictionary_of(store, sqlite3_column_int64(row, first_column + 1));
  const void *body = sqlite3_column_blob(row, first_column + 2);
  const size_t packed = (size_t)sqlite3_column_bytes(row, first_column + 2);
  if (!store->unpack) store->unpack = ZSTD_createDCtx();
  char *text = dictionary && store->unpack ? malloc(bytes + 1) : NULL;
  if (!text) return dictionary ? (tb_store_failed(store, "a document"), NULL) : NULL;
  if (ZSTD_decompress_usingDDict(store->unpack, text, bytes, body, packed, dictionary) != bytes) {
    snprintf(store->error, sizeof store->error, "a stored document is damaged");
    store->failed = SQLITE_CORRUPT;
    free(text);
    return NULL;
  }
  text[bytes] = '\0';
  *length = bytes;
  return text;
}
