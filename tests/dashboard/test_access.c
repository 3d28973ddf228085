/* Who may do what, and how much of it: tokens, and the limits of a peer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "dashboard/server/auth.h"
#include "dashboard/server/limits.h"

static struct sockaddr_in6 address_of(const char *text) {
  struct sockaddr_in6 address = {.sin6_family = AF_INET6};
  assert_int_equal(inet_pton(AF_INET6, text, &address.sin6_addr), 1);
  return address;
}

static bool take(struct tb_limits *limits, const char *address, double now, double cost, int *retry) {
  const struct sockaddr_in6 peer = address_of(address);
  return tb_limits_take(limits, (const struct sockaddr *)&peer, now, cost, retry);
}

static void test_limits(void **state) {
  static struct tb_limits limits;
  int retry;
  (void)state;
  tb_limits_open(&limits, 10);
  for (int i = 0; i < 10; i++) assert_true(take(&limits, "2001:db8::1", 0, 1, &retry));
  assert_false(take(&limits, "2001:db8::1", 0, 1, &retry));
  assert_int_equal(retry, 1);
  assert_false(take(&limits, "2001:db8::ffff:2", 0, 1, &retry)); /* the same /64 */
  assert_true(take(&limits, "2001:db8:0:1::1", 0, 1, &retry));
  assert_true(take(&limits, "2001:db8::1", 0.11, 1, &retry));
  assert_false(take(&limits, "2001:db8::1", 0.11, 1, &retry));
  assert_true(take(&limits, "2001:db8::1", 100, 10, &retry));
  assert_false(take(&limits, "2001:db8::1", 100, 1, &retry));
  for (int i = 0; i < 100000;
       i++) { /* more peers than places: memory is bounded, and each new one may begin */
    char text[64];
    snprintf(text, sizeof text, "2001:db9:%x:%x::1", i / 65536, i % 65536);
    assert_true(take(&limits, text, 101, 1, &retry));
  }
  tb_limits_close(&limits);
}

/* What is charged is taken also where less is there: it has to be earned before anything is granted again. */
static void test_charges(void **state) {
  static struct tb_limits limits;
  const struct sockaddr_in6 guesser = address_of("2001:db8::1");
  int retry;
  (void)state;
  tb_limits_open(&limits, 10);
  assert_true(take(&limits, "2001:db8::1", 0, 1, &retry));
  tb_limits_charge(&limits, (const struct sockaddr *)&guesser, 0, 20); /* of 9 */
  assert_false(take(&limits, "2001:db8::1", 1, 1, &retry));
  assert_int_equal(retry, 1);
  assert_true(take(&limits, "2001:db8:0:1::1", 1, 10, &retry)); /* someone else */
  assert_true(take(&limits, "2001:db8::1", 1.3, 1, &retry));
  for (int i = 0; i < 5; i++) tb_limits_charge(&limits, (const struct sockaddr *)&guesser, 2, 20);
  assert_false(take(&limits, "2001:db8::1", 10, 1, &retry));
  assert_true(take(&limits, "2001:db8::1", 13, 1, &retry));
  tb_limits_close(&limits);
}

/* Connections are counted for each peer, until the last one of it is gone. */
static void test_connection_counts(void **state) {
  static struct tb_connection_counts connection_counts;
  const struct sockaddr_in6 one = address_of("2001:db8::1"), neighbour = address_of("2001:db8::ffff:2"),
                            other = address_of("2001:db8:0:1::1");
  const struct sockaddr *peer = (const struct sockaddr *)&one;
  (void)state;
  tb_connections_open(&connection_counts, 3);
  for (int i = 0; i < 3; i++) {
    assert_true(tb_connections_may_add(&connection_counts, peer));
    assert_true(tb_connections_add(&connection_counts, peer));
  }
  assert_false(tb_connections_may_add(&connection_counts, peer));
  assert_false(
      tb_connections_may_add(&connection_counts, (const struct sockaddr *)&neighbour)); /* the same /64 */
  assert_true(tb_connections_may_add(&connection_counts, (const struct sockaddr *)&other));
  tb_connections_remove(&connection_counts, (const struct sockaddr *)&neighbour);
  assert_true(tb_connections_may_add(&connection_counts, peer));
  for (int i = 0; i < 20000; i++) { /* more peers than chains; each is forgotten with its last connection */
    char text[64];
    snprintf(text, sizeof text, "2001:db9:%x:%x::1", i / 65536, i % 65536);
    const struct sockaddr_in6 many = address_of(text);
    assert_true(tb_connections_add(&connection_counts, (const struct sockaddr *)&many));
    if (i % 2) tb_connections_remove(&connection_counts, (const struct sockaddr *)&many);
  }
  tb_connections_remove(&connection_counts, peer);
  tb_connections_remove(&connection_counts, peer);
  int callers = 0;
  for (int i = 0; i < TB_CONNECTION_CHAINS; i++)
    for (const struct tb_caller *caller = connection_counts.chains[i]; caller; caller = caller->next)
      callers++;
  assert_int_equal(callers, 10000);
  tb_connections_close(&connection_counts);
}

static void open_store(struct tb_store *store) {
  struct tc_error err;
  assert_int_equal(tb_store_open(store, ":memory:", TB_STORE_WRITE, 1024, &err), TC_OK);
}

static int give_up(void *self) { return (void)self, 1; }

static void test_tokens(void **state) {
  static struct tb_auth auth;
  char token[TB_TOKEN_TEXT], reading[TB_TOKEN_TEXT];
  struct tb_store store;
  (void)state;
  open_store(&store);
  tb_auth_open(&auth);
  assert_true(tb_token_new(&store, TB_SCOPE_WRITE, token) && tb_auth_load(&auth, &store));
  assert_int_equal(tb_auth_scope(&auth, token), TB_SCOPE_WRITE);
  assert_int_equal(tb_auth_scope(&auth, NULL), TB_SCOPE_NONE);
  token[20] ^= 1;
  assert_int_equal(tb_auth_scope(&auth, token), TB_SCOPE_NONE);
  assert_true(tb_auth_allows(&auth, TB_SCOPE_NONE, TB_SCOPE_READ) &&
              !tb_auth_allows(&auth, TB_SCOPE_NONE, TB_SCOPE_WRITE));
  assert_true(tb_token_new(&store, TB_SCOPE_READ, reading) && tb_auth_load(&auth, &store));
  assert_false(tb_auth_allows(&auth, TB_SCOPE_NONE, TB_SCOPE_READ));
  assert_int_equal(tb_auth_scope(&auth, reading), TB_SCOPE_READ);
  sqlite3_progress_handler(store.db, 1, give_up, NULL);
  assert_false(
      tb_auth_load(&auth, &store)); /* nothing is forgotten: nobody gets in, and who had a token still does */
  sqlite3_progress_handler(store.db, 0, NULL, NULL);
  assert_false(tb_auth_allows(&auth, TB_SCOPE_NONE, TB_SCOPE_READ));
  assert_int_equal(tb_auth_scope(&auth, reading), TB_SCOPE_READ);
  tb_auth_close(&auth);
  tb_store_close(&store);
}

/* There are as many as a server knows, and no more; one beyond them closes reading all the same. */
static void test_many_tokens(void **state) {
  static struct tb_auth auth;
  char token[TB_TOKEN_TEXT];
  struct tb_store store;
  (void)state;
  open_store(&store);
  tb_auth_open(&auth);
  for (int i = 0; i < TB_TOKENS; i++) assert_true(tb_token_new(&store, TB_SCOPE_WRITE, token));
  assert_true(tb_auth_load(&auth, &store));
  assert_int_equal(tb_auth_scope(&auth, token), TB_SCOPE_WRITE);
  assert_false(tb_token_new(&store, TB_SCOPE_READ, token));
  assert_non_null(strstr(store.error, "as many as there may be"));
  sqlite3_stmt *all = tb_store_get(&store, TB_SQL_TOKENS);
  int count = 0;
  while (sqlite3_step(all) == SQLITE_ROW) count++;
  tb_store_done(all);
  assert_int_equal(count, TB_TOKENS);
  assert_true(tb_auth_allows(&auth, TB_SCOPE_NONE, TB_SCOPE_READ));
  assert_int_equal(sqlite3_exec(store.db,
                                "INSERT INTO tokens(hash, scope, created) VALUES(randomblob(32), 1, 0)", NULL,
                                NULL, NULL),
                   SQLITE_OK);
  assert_true(tb_auth_load(&auth, &store));
  assert_false(tb_auth_allows(&auth, TB_SCOPE_NONE, TB_SCOPE_READ));
  tb_auth_close(&auth);
  tb_store_close(&store);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_charges),
      cmocka_unit_test(test_connection_counts),
      cmocka_unit_test(test_tokens),
      cmocka_unit_test(test_many_tokens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
