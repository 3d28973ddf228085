/* What a comparison that takes long holds up: other comparisons, in a line that ends, and nothing else.
 * libmicrohttpd's part is played by the test, and a comparison (tests/files.am) lasts until the test ends
 * it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "dashboard/server/server.h"
#include "harness/base/folder.h"

enum { CLIENTS = TB_COMPARED_MOST + 8 };

/* One connection each; under the mutex. */
struct client {
  const char *base;
  void *request;
  bool resumed;
  unsigned status;
  char *type;
};

static struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  struct client clients[CLIENTS];
  bool open;            /* comparisons end */
  int begun, now, most; /* comparisons: all, at once, and the most at once */
} world = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void lock(void) { pthread_mutex_lock(&world.mutex); }
static void unlock(void) {
  pthread_cond_broadcast(&world.changed);
  pthread_mutex_unlock(&world.mutex);
}

/* --- libmicrohttpd --- */

static struct client *client_of(struct MHD_Connection *connection) {
  return (struct client *)(void *)connection;
}

enum MHD_Result MHD_queue_response(struct MHD_Connection *connection, unsigned int status,
                                   struct MHD_Response *response) {
  const char *type = MHD_get_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE),
             *retry = MHD_get_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER);
  client_of(connection)->status = status;
  free(client_of(connection)->type);
  client_of(connection)->type = strdup(type);
  assert_int_equal(status == MHD_HTTP_SERVICE_UNAVAILABLE, retry != NULL);
  return MHD_YES;
}

const char *MHD_lookup_connection_value(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                                        const char *key) {
  return kind == MHD_GET_ARGUMENT_KIND && (!strcmp(key, "base") || !strcmp(key, "head"))
             ? client_of(connection)->base
             : NULL;
}

int MHD_get_connection_values(struct MHD_Connection *connection, enum MHD_ValueKind kind,
                              MHD_KeyValueIterator iterator, void *self) {
  (void)connection;
  return iterator(self, kind, "Host", "localhost"), 1;
}

const union MHD_ConnectionInfo *MHD_get_connection_info(struct MHD_Connection *connection,
                                                        enum MHD_ConnectionInfoType type, ...) {
  (void)connection, (void)type;
  return NULL;
}

void MHD_suspend_connection(struct MHD_Connection *connection) { (void)connection; }

void MHD_resume_connection(struct MHD_Connection *connection) {
  lock();
  client_of(connection)->resumed = true;
  unlock();
}

/* --- a comparison --- */

void __wrap_tb_api_compare(struct tb_query *request, struct tb_store *store);
void __wrap_tb_api_compare(struct tb_query *request, struct tb_store *store) {
  assert_false(sqlite3_get_autocommit(store->db)); /* it sees one state of the database */
  lock();
  world.begun++;
  world.now++;
  if (world.most < world.now) world.most = world.now;
  pthread_cond_broadcast(&world.changed);
  while (!world.open) pthread_cond_wait(&world.changed, &world.mutex);
  world.now--;
  unlock();
  tc_strbuf_puts(&request->answer.body, "{}");
}

/* --- requests --- */

struct place {
  char folder[64], db[96];
  struct tb_settings settings;
  struct tb_server *server;
};

static int set_up(void **state) {
  struct place *p = calloc(1, sizeof *p);
  struct tc_error err;
  struct tb_store store;
  assert_non_null(p);
  strcpy(p->folder, "/tmp/tbench-readers.XXXXXX");
  assert_non_null(mkdtemp(p->folder));
  snprintf(p->db, sizeof p->db, "%s/db", p->folder);
  assert_int_equal(tb_store_open(&store, p->db, TB_STORE_WRITE, 1024, &err), TC_OK);
  tb_store_close(&store);
  p->settings = (struct tb_settings){.db = p->db, .loopback = true, .open = true, .max_mib = 1, .rate = 1};
  p->server = calloc(1, sizeof *p->server);
  assert_non_null(p->server);
  p->server->settings = &p->settings;
  tb_auth_open(&p->server->auth);
  p->server->readers = tb_readers_start(p->server, &err);
  assert_non_null(p->server->readers);
  *state = p;
  return 0;
}

static int tear_down(void **state) {
  struct place *p = *state;
  tb_readers_stop(p->server->readers);
  tb_auth_close(&p->server->auth);
  free(p->server);
  tb_folder_remove(p->folder);
  free(p);
  for (int i = 0; i < CLIENTS; i++) free(world.clients[i].type);
  return 0;
}

/* The request comes; what answers it may do so from now on. */
static void ask(struct place *p, int number, const char *path, const char *base) {
  struct client *c = &world.clients[number];
  size_t bytes = 0;
  free(c->type);
  *c = (struct client){.base = base};
  for (int i = 0; i < 2; i++)
    assert_int_equal(tb_http_handle(p->server, (struct MHD_Connection *)(void *)c, path, "GET", "HTTP/1.1",
                                    NULL, &bytes, &c->request),
                     MHD_YES);
}

/* Something of the world happens, under the mutex; false: not within what the slowest machine takes. */
static bool happens(void) {
  enum { PATIENCE_S = 120 };
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += PATIENCE_S;
  return !pthread_cond_timedwait(&world.changed, &world.mutex, &end);
}

static void wait_for_comparison(void) {
  lock();
  while (!world.begun) assert_true(happens());
  unlock();
}

/* Waits for its answer. */
static unsigned answer(struct place *p, int number, const char *path) {
  struct client *c = &world.clients[number];
  size_t bytes = 0;
  lock();
  while (!c->resumed) assert_true(happens());
  unlock();
  assert_int_equal(tb_http_handle(p->server, (struct MHD_Connection *)(void *)c, path, "GET", "HTTP/1.1",
                                  NULL, &bytes, &c->request),
                   MHD_YES);
  tb_http_completed(p->server, (struct MHD_Connection *)(void *)c, &c->request,
                    MHD_REQUEST_TERMINATED_COMPLETED_OK);
  return c->status;
}

static const char compare[] = "/api/v1/compare", overview[] = "/api/v1/overview";

/* One comparison lasts, others wait for it: whoever asks for something else is answered, and of comparisons
 * that are too many each is told to come again. In the end all that waited are answered, one after the
 * other. */
static void test_comparisons(void **state) {
  struct place *p = *state;
  int next = 0;
  world.open = false;
  world.begun = world.most = 0;
  ask(p, next++, compare, "a");
  wait_for_comparison();
  for (int i = 0; i < TB_COMPARED_MOST; i++) ask(p, next++, compare, "a");
  const int waiting = next;
  for (int i = 0; i < 2 * TB_READERS; i++) { /* more than one for each reader: none is held up */
    ask(p, next, overview, NULL);
    assert_int_equal(answer(p, next, overview), MHD_HTTP_OK);
  }
  ask(p, next, "/compare", NULL); /* the form */
  assert_int_equal(answer(p, next, "/compare"), MHD_HTTP_OK);
  ask(p, next, compare, "a");
  assert_int_equal(answer(p, next, compare), MHD_HTTP_SERVICE_UNAVAILABLE);
  assert_string_equal(world.clients[next].type, "application/json");
  ask(p, next, "/compare", "a");
  assert_int_equal(answer(p, next, "/compare"), MHD_HTTP_SERVICE_UNAVAILABLE);
  assert_string_equal(world.clients[next].type, "text/html; charset=utf-8");
  lock();
  assert_int_equal(world.begun, 1);
  world.open = true;
  unlock();
  for (int i = 0; i < waiting; i++) assert_int_equal(answer(p, i, compare), MHD_HTTP_OK);
  assert_int_equal(world.begun, waiting);
  assert_int_equal(world.most, 1);
  assert_int_equal(atomic_load(&p->server->active), 0);
}

/* While comparisons wait, what was written can go over to the database's file, all of it. */
static void test_checkpoint(void **state) {
  struct place *p = *state;
  struct tb_store store;
  struct tc_error err;
  int in_log = -1, moved = -1, next = 0;
  world.open = false;
  world.begun = 0;
  ask(p, next++, compare, "a");
  wait_for_comparison();
  for (int i = 0; i < TB_COMPARED_MOST; i++) ask(p, next++, compare, "a");
  assert_int_equal(tb_store_open(&store, p->db, TB_STORE_WRITE, 1024, &err), TC_OK);
  assert_true(tb_store_set_meta(&store, "something", 1, false));
  assert_int_equal(sqlite3_wal_checkpoint_v2(store.db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &moved),
                   SQLITE_OK);
  assert_true(in_log > 0);
  assert_int_equal(moved, in_log);
  tb_store_close(&store);
  lock();
  world.open = true;
  unlock();
  for (int i = 0; i < next; i++) assert_int_equal(answer(p, i, compare), MHD_HTTP_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_comparisons), cmocka_unit_test(test_checkpoint)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
