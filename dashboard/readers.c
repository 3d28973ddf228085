/* Threads that answer queries, each with a connection of its own to the database. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/answer.h"
#include "dashboard/html.h"

enum { WAITING_MOST = 256, CACHE_KIB = 6144 };

struct tb_readers {
  pthread_t threads[TB_READERS];
  struct tb_store stores[TB_READERS];
  int n_threads, n_stores, next;
  pthread_mutex_t mutex;
  pthread_cond_t wanted;
  struct tb_query *first, **last; /* under the mutex, as below */
  int waiting;
  bool stopping;
};

static struct tb_query *take(struct tb_readers *readers) {
  pthread_mutex_lock(&readers->mutex);
  while (!readers->first && !readers->stopping) pthread_cond_wait(&readers->wanted, &readers->mutex);
  struct tb_query *request = readers->first;
  if (request) {
    readers->first = request->next;
    if (!readers->first) readers->last = &readers->first;
    readers->waiting--;
  }
  pthread_mutex_unlock(&readers->mutex);
  return request;
}

/* In the place of what was written until then. */
static void answer_failed(struct tb_query *request, const struct tb_store *store) {
  const bool page = !strncmp(request->answer.type, "text/html", strlen("text/html"));
  tb_answer_store_failed(request, store);
  if (page) tb_web_error(request);
}

/* A query sees one state of the database, however many statements it makes. */
void tb_query_read(struct tb_query *request, struct tb_store *store) {
  store->failed = 0;
  if (sqlite3_exec(store->db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK) {
    tb_store_failed(store, "the database");
    tb_answer_store_failed(request, store);
  } else {
    request->answer.status = MHD_HTTP_OK;
    request->answer.type = "application/json";
    request->route->answer(request, store);
    if (store->failed) answer_failed(request, store);
  }
  if (!sqlite3_get_autocommit(store->db)) sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL);
}

static void *run(void *self) {
  struct tb_readers *readers = self;
  struct tb_query *request;
  pthread_mutex_lock(&readers->mutex);
  struct tb_store *store = &readers->stores[readers->next++];
  pthread_mutex_unlock(&readers->mutex);
  while ((request = take(readers))) {
    tb_query_read(request, store);
    tb_query_resume(request);
  }
  return NULL;
}

struct tb_readers *tb_readers_start(struct tb_server *server, struct tc_error *err) {
  struct tb_readers *readers = calloc(1, sizeof *readers);
  if (!readers) return tc_fail(err, TC_NOMEM, "serve", "out of memory"), NULL;
  readers->last = &readers->first;
  pthread_mutex_init(&readers->mutex, NULL);
  pthread_cond_init(&readers->wanted, NULL);
  for (int i = 0; i < TB_READERS; i++) {
    if (tb_store_open(&readers->stores[i], server->settings->db, TB_STORE_READ, CACHE_KIB, err) != TC_OK) goto fail;
    readers->n_stores++;
  }
  for (int i = 0; i < TB_READERS; i++, readers->n_threads++)
    if (pthread_create(&readers->threads[i], NULL, run, readers)) {
      tc_fail(err, TC_NOMEM, "serve", "threads cannot be started");
      goto fail;
    }
  return readers;
fail:
  tb_readers_stop(readers);
  return NULL;
}

bool tb_readers_put(struct tb_readers *readers, struct tb_query *request) {
  pthread_mutex_lock(&readers->mutex);
  const bool room = readers->waiting < WAITING_MOST;
  if (room) {
    request->next = NULL;
    *readers->last = request;
    readers->last = &request->next;
    readers->waiting++;
    pthread_cond_signal(&readers->wanted);
  }
  pthread_mutex_unlock(&readers->mutex);
  return room;
}

void tb_readers_stop(struct tb_readers *readers) {
  if (!readers) return;
  pthread_mutex_lock(&readers->mutex);
  readers->stopping = true;
  pthread_cond_broadcast(&readers->wanted);
  pthread_mutex_unlock(&readers->mutex);
  for (int i = 0; i < readers->n_threads; i++) pthread_join(readers->threads[i], NULL);
  for (int i = 0; i < readers->n_stores; i++) tb_store_close(&readers->stores[i]);
  pthread_cond_destroy(&readers->wanted);
  pthread_mutex_destroy(&readers->mutex);
  free(readers);
}
