/* Tokens. */
#include "dashboard/auth.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "dashboard/digest.h"

void tb_auth_open(struct tb_auth *auth) {
  *auth = (struct tb_auth){0};
  pthread_rwlock_init(&auth->lock, NULL);
  auth->fast_digest = tb_digest_is_fast();
}

void tb_auth_close(struct tb_auth *auth) { pthread_rwlock_destroy(&auth->lock); }

bool tb_auth_load(struct tb_auth *auth, struct tb_store *store) {
  sqlite3_stmt *all = tb_store_get(store, TB_SQL_TOKENS);
  int status = SQLITE_DONE;
  if (!all) return false;
  pthread_rwlock_wrlock(&auth->lock);
  auth->count = 0;
  auth->reading = auth->writing = false;
  while (auth->count < TB_TOKENS && (status = sqlite3_step(all)) == SQLITE_ROW) {
    if (sqlite3_column_bytes(all, 1) != TC_SHA256_BYTES) continue;
    memcpy(auth->tokens[auth->count].digest, sqlite3_column_blob(all, 1), TC_SHA256_BYTES);
    const enum tb_scope scope = auth->tokens[auth->count++].scope = sqlite3_column_int(all, 2) == TB_SCOPE_WRITE ? TB_SCOPE_WRITE : TB_SCOPE_READ;
    if (scope == TB_SCOPE_WRITE) auth->writing = true;
    else auth->reading = true;
  }
  pthread_rwlock_unlock(&auth->lock);
  const bool good = status == SQLITE_DONE || status == SQLITE_ROW || tb_store_failed(store, "tokens");
  tb_store_done(all);
  return good;
}

static bool same_digest(const unsigned char *a, const unsigned char *b) {
  unsigned differing = 0;
  for (int i = 0; i < TC_SHA256_BYTES; i++) differing |= (unsigned)(a[i] ^ b[i]);
  return !differing;
}

enum tb_scope tb_auth_scope(struct tb_auth *auth, const char *token) {
  unsigned char digest[TC_SHA256_BYTES];
  enum tb_scope scope = TB_SCOPE_NONE;
  if (!token) return scope;
  tb_digest(auth->fast_digest, token, strlen(token), digest);
  pthread_rwlock_rdlock(&auth->lock);
  for (int i = 0; i < auth->count; i++)
    if (same_digest(digest, auth->tokens[i].digest)) scope = auth->tokens[i].scope;
  pthread_rwlock_unlock(&auth->lock);
  return scope;
}

bool tb_auth_allows(struct tb_auth *auth, enum tb_scope scope, enum tb_scope needed) {
  pthread_rwlock_rdlock(&auth->lock);
  const bool reading = auth->reading;
  pthread_rwlock_unlock(&auth->lock);
  return scope >= needed || (needed == TB_SCOPE_READ && !reading);
}

bool tb_token_new(struct tb_store *store, enum tb_scope scope, char *text) {
  enum { RANDOM = 32 };
  unsigned char secret[RANDOM], digest[TC_SHA256_BYTES];
  sqlite3_stmt *add = tb_store_get(store, TB_SQL_ADD_TOKEN);
  if (!add) return false;
  if (getrandom(secret, sizeof secret, 0) != sizeof secret) {
    snprintf(store->error, sizeof store->error, "no random numbers: %s", strerror(errno));
    return false;
  }
  int at = snprintf(text, TB_TOKEN_TEXT, "tb_%s_", scope == TB_SCOPE_WRITE ? "write" : "read");
  for (int i = 0; i < RANDOM; i++) at += snprintf(text + at, (size_t)(TB_TOKEN_TEXT - at), "%02x", secret[i]);
  tb_digest(false, text, strlen(text), digest);
  sqlite3_bind_blob(add, 1, digest, sizeof digest, SQLITE_STATIC);
  sqlite3_bind_int(add, 2, (int)scope);
  sqlite3_bind_int64(add, 3, tb_now_ms());
  return tb_store_run(store, add);
}
