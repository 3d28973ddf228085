/* Who may write, and who may read: tokens, of which the database has the SHA-256 alone.
 *
 * A token is 32 random bytes in hex behind "tb_write_" or "tb_read_", so that guessing is hopeless and a
 * plain hash of it is enough.
 * 1. Digests are compared without regard to where they differ, and all of them are, whichever fits.
 * 2. A token for writing may read too. Where there is no token for reading, anyone who reaches the server may
 *    read.
 * 3. A list that cannot be read whole changes nothing: what was known before stays in force.
 * Threads: a list may be asked by many while it is replaced by one. */
#ifndef TB_DASHBOARD_AUTH_H
#define TB_DASHBOARD_AUTH_H

#include <pthread.h>

#include "dashboard/store/store.h"

enum tb_scope { TB_SCOPE_NONE, TB_SCOPE_READ, TB_SCOPE_WRITE };

enum { TB_TOKENS = 256, TB_TOKEN_TEXT = 96 };

struct tb_token {
  unsigned char digest[TC_SHA256_BYTES];
  enum tb_scope scope;
};

struct tb_tokens {
  int count;
  bool reading; /* there is a token for reading, be it one that is beyond TB_TOKENS */
  bool writing;
  struct tb_token list[TB_TOKENS];
};

struct tb_auth {
  pthread_rwlock_t lock;
  struct tb_tokens tokens;
};

void tb_auth_open(struct tb_auth *auth);
void tb_auth_close(struct tb_auth *auth);
/* Takes the tokens of the database over, all of them or none; false with store->error. */
bool tb_auth_load(struct tb_auth *auth, struct tb_store *store);
/* What the bearer of a token may do. NULL: no token. */
enum tb_scope tb_auth_scope(struct tb_auth *auth, const char *token);
/* Whether who has `scope` may do what needs `needed`. */
bool tb_auth_allows(struct tb_auth *auth, enum tb_scope scope, enum tb_scope needed);

/* A new token into the database, its text (TB_TOKEN_TEXT bytes) to be shown once. False with store->error,
 * also where there are TB_TOKENS already. */
bool tb_token_new(struct tb_store *store, enum tb_scope scope, char *text);

#endif
