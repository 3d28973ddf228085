/* Tokens. */
#include "dashboard/server/auth.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "dashboard/store/digest.h"

void tb_auth_open(struct tb_auth *auth) {
  *auth = (struct tb_auth){0};
  pthread_rwlock_init(&auth->lock, NULL);
}

void tb_auth_close(struct tb_auth *auth) { pthread_rwlock_destroy(&auth->lock); }

/* A token that is no use to its bearer (one too many, or damaged) still says that reading is not for
 * everyone. */
static void take_token(struct tb_tokens *tokens, sqlite3_stmt *row) {
  const enum tb_scope scope = sqlite3_column_int(row, 2) == TB_SCOPE_WRITE ? TB_SCOPE_WRITE : TB_SCOPE_READ;
  if (scope == TB_SCOPE_READ) tokens->reading = true;
  if (tokens->count == TB_TOKENS || sqlite3_column_bytes(row, 1) != TC_SHA256_BYTES) return;
  if (scope == TB_SCOPE_WRITE) tokens->writing = true;
  struct tb_token *token = &tokens->list[tokens->count++];
  memcpy(token->digest, sqlite3_column_blob(row, 1), TC_SHA256_BYTES);
  token->scope = scope;
}

bool tb_auth_load(struct tb_auth *auth, struct tb_store *store) {
  struct tb_tokens tokens = {.count = 0};
  sqlite3_stmt *all = tb_store_get(store, TB_SQL_TOKENS);
  int status;
  if (!all) return false;
  while ((status = sqlite3_step(all)) == SQLITE_ROW) take_token(&tokens, all);
  const bool good = status == SQLITE_DONE || tb_store_failed(store, "tokens");
  tb_store_done(all);
  if (!good) return false;
  pthread_rwlock_wrlock(&auth->lock);
  auth->tokens = tokens;
  pthread_rwlock_unlock(&auth->lock);
  return true;
}

static bool same_digest(const unsigned char *a, const unsigned char *b) {
  unsigned differing = 0;
  for (int i = 0; i < TC_SHA256_BYTES; i++) differing |= (unsigned)(a[i] ^ b[i]);
  return !differing;
}

enum tb_scope tb_auth_scope(struct tb_auth *auth, const char *token) {
  unsigned char digest[TC_SHA256_BYTES];
  enum tb_scope scope = TB_SCOPE_NONE;
  if (!token || !tb_digest(token, strlen(token), digest)) return scope;
  pthread_rwlock_rdlock(&auth->lock);
  for (int i = 0; i < auth->tokens.count; i++)
    if (same_digest(digest, auth->tokens.list[i].digest)) scope = auth->tokens.list[i].scope;
  pthread_rwlock_unlock(&auth->lock);
  return scope;
}

bool tb_auth_allows(struct tb_auth *auth, enum tb_scope scope, enum tb_scope needed) {
  pthread_rwlock_rdlock(&auth->lock);
  const bool reading = auth->tokens.reading;
  pthread_rwlock_unlock(&auth->lock);
  return scope >= needed || (needed == TB_SCOPE_READ && !reading);
}

/* A server knows TB_TOKENS of them; a further one would never work. */
static bool has_room(struct tb_store *store) {
  sqlite3_stmt *all = tb_store_get(store, TB_SQL_TOKENS);
  int status, count = 0;
  if (!all) return false;
  while ((status = sqlite3_step(all)) == SQLITE_ROW) count++;
  const bool read = status == SQLITE_DONE || tb_store_failed(store, "tokens");
  tb_store_done(all);
  if (read && count >= TB_TOKENS)
    snprintf(store->error, sizeof store->error,
             "there are %d tokens, as many as there may be; remove one: token=list, token=remove:NUMBER",
             count);
  return read && count < TB_TOKENS;
}

bool tb_token_new(struct tb_store *store, enum tb_scope scope, char *text) {
  enum { RANDOM = 32 };
  unsigned char secret[RANDOM], digest[TC_SHA256_BYTES];
  sqlite3_stmt *add = tb_store_get(store, TB_SQL_ADD_TOKEN);
  if (!add || !has_room(store)) return false;
  if (getrandom(secret, sizeof secret, 0) != sizeof secret) {
    snprintf(store->error, sizeof store->error, "no random numbers: %s", strerror(errno));
    return false;
  }
  const int at = snprintf(text, TB_TOKEN_TEXT, "tb_%s_", scope == TB_SCOPE_WRITE ? "write" : "read");
  tc_hex(secret, sizeof secret, text + at);
  if (!tb_digest(text, strlen(text), digest)) {
    snprintf(store->error, sizeof store->error, "out of memory");
    return false;
  }
  sqlite3_bind_blob(add, 1, digest, sizeof digest, SQLITE_STATIC);
  sqlite3_bind_int(add, 2, (int)scope);
  sqlite3_bind_int64(add, 3, tb_now_ms());
  return tb_store_run(store, add);
}
