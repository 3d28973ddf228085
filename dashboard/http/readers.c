/* Threads that answer queries, each with a connection of its own to the database. Invariant: what waits is in
 * a line, and holds no connection and no state of the database. Comparisons hold large documents and take
 * long: they have a line and a thread of their own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dashboard/pages/html.h"
#include "dashboard/server/answer.h"

enum {
  WAITING_MOST = 256,
  CACHE_KIB = 6144,
  THREADS = TB_READERS + 1,
  COMPARER = TB_READERS /* its number */
};

/* Under the mutex of the readers. */
struct line {
  struct tb_query *first, **last;
  int waiting, most;
  pthread_cond_t wanted;
};

struct reader {
  struct tb_readers *readers;
  struct line *line;
  struct tb_store store;
  pthread_t thread;
};

struct tb_readers {
  struct reader all[THREADS];
  int n_threads, n_stores;
  pthread_mutex_t mutex;
  struct line queries, comparisons;
  bool stopping; /* under the mutex */
};

static void open_line(struct line *line, int most) {
  *line = (struct line){.most = most, .last = &line->first};
  pthread_cond_init(&line->wanted, NULL);
}

static struct tb_query *take(struct tb_readers *readers, struct line *line) {
  pthread_mutex_lock(&readers->mutex);
  while (!line->first && !readers->stopping) pthread_cond_wait(&line->wanted, &readers->mutex);
  struct tb_query *request = line->first;
  if (request) {
    line->first = request->next;
    if (!line->first) line->last = &line->first;
    line->waiting--;
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
  struct reader *reader = self;
  struct tb_query *request;
  while ((request = take(reader->readers, reader->line))) {
    tb_query_read(request, &reader->store);
    tb_query_resume(request);
  }
  return NULL;
}

struct tb_readers *tb_readers_start(struct tb_server *server, struct tc_error *err) {
  struct tb_readers *readers = calloc(1, sizeof *readers);
  if (!readers) return tc_fail_memory(err, "serve"), NULL;
  pthread_mutex_init(&readers->mutex, NULL);
  open_line(&readers->queries, WAITING_MOST);
  open_line(&readers->comparisons, TB_COMPARED_MOST);
  for (int i = 0; i < THREADS; i++, readers->n_stores++) {
    readers->all[i].readers = readers;
    readers->all[i].line = i == COMPARER ? &readers->comparisons : &readers->queries;
    if (tb_store_open(&readers->all[i].store, server->settings->db, TB_STORE_READ, CACHE_KIB, err) != TC_OK)
      goto fail;
  }
  for (int i = 0; i < THREADS; i++, readers->n_threads++)
    if (pthread_create(&readers->all[i].thread, NULL, run, &readers->all[i])) {
      tc_fail(err, TC_NOMEM, "serve", "threads cannot be started");
      goto fail;
    }
  return readers;
fail:
  tb_readers_stop(readers);
  return NULL;
}

bool tb_readers_put(struct tb_readers *readers, struct tb_query *request, bool compares) {
  struct line *line = compares ? &readers->comparisons : &readers->queries;
  pthread_mutex_lock(&readers->mutex);
  const bool room = line->waiting < line->most;
  if (room) {
    request->next = NULL;
    *line->last = request;
    line->last = &request->next;
    line->waiting++;
    pthread_cond_signal(&line->wanted);
  }
  pthread_mutex_unlock(&readers->mutex);
  return room;
}

void tb_readers_stop(struct tb_readers *readers) {
  if (!readers) return;
  pthread_mutex_lock(&readers->mutex);
  readers->stopping = true;
  pthread_cond_broadcast(&readers->queries.wanted);
  pthread_cond_broadcast(&readers->comparisons.wanted);
  pthread_mutex_unlock(&readers->mutex);
  for (int i = 0; i < readers->n_threads; i++) pthread_join(readers->all[i].thread, NULL);
  for (int i = 0; i < readers->n_stores; i++) tb_store_close(&readers->all[i].store);
  pthread_cond_destroy(&readers->queries.wanted);
  pthread_cond_destroy(&readers->comparisons.wanted);
  pthread_mutex_destroy(&readers->mutex);
  free(readers);
}
