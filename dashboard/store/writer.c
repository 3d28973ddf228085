/* The thread that writes. */
#include "dashboard/store/writer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

enum { GATHER_NS = 2000000 /* the longest that is waited for a group to grow */ };

struct tb_writer {
  struct tb_store *store;
  void (*ended)(void *self);
  void *self;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t wanted;
  struct tb_write *first, **last; /* under the mutex, as all below */
  size_t waiting;
  size_t recent;  /* items that were here at once lately: of the group, and waiting for the next one */
  size_t awaited; /* so many are to wait until the thread is woken; 0: one is enough */
  double last_ns; /* that the last group took */
  bool stopping;
  struct tb_writer_counts counts;
};

/* Who was answered sends again soon: a group begins when half of those that were here lately are here, or
 * after as long as the last one took. A commit costs what some documents cost, whatever is in it. Under the
 * mutex. */
static void gather(struct tb_writer *writer) {
  const size_t wanted = writer->recent / 2;
  const double wait_ns = writer->last_ns < GATHER_NS ? writer->last_ns : GATHER_NS;
  if (writer->waiting >= wanted || writer->stopping) return;
  const int64_t end = tc_clock_ns() + (int64_t)wait_ns;
  const struct timespec until = {end / TC_NS_PER_S, end % TC_NS_PER_S};
  writer->awaited = wanted;
  while (writer->waiting < wanted && !writer->stopping &&
         !pthread_cond_timedwait(&writer->wanted, &writer->mutex, &until))
    continue;
  writer->awaited = 0;
}

/* At most TB_WRITER_GROUP items; NULL: the writer is to end, and nothing is left. Under the mutex. */
static struct tb_write *take_group(struct tb_writer *writer) {
  while (!writer->first && !writer->stopping) pthread_cond_wait(&writer->wanted, &writer->mutex);
  gather(writer);
  struct tb_write *group = writer->first, **end = &group;
  size_t count = 0;
  for (; *end && count < TB_WRITER_GROUP; count++) end = &(*end)->next;
  writer->first = *end;
  if (!writer->first) writer->last = &writer->first;
  *end = NULL;
  writer->waiting -= count;
  return group;
}

static bool apply_all(struct tb_store *store, struct tb_write *group) {
  if (!tb_store_run(store, tb_store_get(store, TB_SQL_BEGIN))) return false;
  for (struct tb_write *item = group; item; item = item->next)
    if ((item->written = item->apply(item, store)) == TB_WRITTEN_FAILED) return false;
  return tb_store_flush_group(store) && tb_store_run(store, tb_store_get(store, TB_SQL_COMMIT));
}

/* All or none of them. */
static bool write_group(struct tb_store *store, struct tb_write *group) {
  if (apply_all(store, group)) return true;
  char error[sizeof store->error];
  memcpy(error, store->error, sizeof error);
  if (!sqlite3_get_autocommit(store->db)) tb_store_run(store, tb_store_get(store, TB_SQL_ROLLBACK));
  tb_store_forget(store);
  memcpy(store->error, error, sizeof error);
  for (struct tb_write *item = group; item; item = item->next) item->written = TB_WRITTEN_FAILED;
  return false;
}

/* Items are gone once they are done. */
static size_t finish_group(struct tb_write *group) {
  size_t count = 0;
  while (group) {
    struct tb_write *next = group->next;
    group->done(group);
    group = next;
    count++;
  }
  return count;
}

/* Under the mutex. */
static void count_group(struct tb_writer *writer, bool good, size_t items, double ns) {
  struct tb_writer_counts *counts = &writer->counts;
  counts->groups++;
  counts->items += items;
  counts->busy_s += ns / TC_NS_PER_S;
  if (!good) {
    counts->failed_groups++;
    memcpy(counts->error, writer->store->error, sizeof counts->error);
  }
  if (!good && !counts->failing) fprintf(stderr, "tbench serve: nothing can be stored: %s\n", counts->error);
  if (good && counts->failing) fprintf(stderr, "tbench serve: results are stored again\n");
  counts->failing = !good;
}

static void *run(void *self) {
  enum { DECAY = 8 };
  struct tb_writer *writer = self;
  struct tb_write *group;
  pthread_mutex_lock(&writer->mutex);
  while ((group = take_group(writer))) {
    pthread_mutex_unlock(&writer->mutex);
    const double started = tc_now_ns();
    const bool good = write_group(writer->store, group);
    const double ended = tc_now_ns();
    const size_t count = finish_group(group);
    if (writer->ended) writer->ended(writer->self);
    pthread_mutex_lock(&writer->mutex);
    const size_t here = count + writer->waiting, before = writer->recent - writer->recent / DECAY;
    writer->recent = here > before ? here : before;
    writer->last_ns = ended - started;
    count_group(writer, good, count, ended - started);
  }
  pthread_mutex_unlock(&writer->mutex);
  return NULL;
}

struct tb_writer *tb_writer_start(struct tb_store *store) {
  struct tb_writer *writer = calloc(1, sizeof *writer);
  pthread_condattr_t monotonic;
  if (!writer) return NULL;
  writer->store = store;
  writer->last = &writer->first;
  pthread_mutex_init(&writer->mutex, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&writer->wanted, &monotonic);
  pthread_condattr_destroy(&monotonic);
  if (!pthread_create(&writer->thread, NULL, run, writer)) return writer;
  free(writer);
  return NULL;
}

void tb_writer_on_end(struct tb_writer *writer, void (*ended)(void *self), void *self) {
  pthread_mutex_lock(&writer->mutex);
  writer->ended = ended;
  writer->self = self;
  pthread_mutex_unlock(&writer->mutex);
}

void tb_writer_put(struct tb_writer *writer, struct tb_write *item) {
  item->next = NULL;
  pthread_mutex_lock(&writer->mutex);
  *writer->last = item;
  writer->last = &item->next;
  if (++writer->waiting == (writer->awaited ? writer->awaited : 1)) pthread_cond_signal(&writer->wanted);
  pthread_mutex_unlock(&writer->mutex);
}

size_t tb_writer_waiting(struct tb_writer *writer) {
  pthread_mutex_lock(&writer->mutex);
  const size_t waiting = writer->waiting;
  pthread_mutex_unlock(&writer->mutex);
  return waiting;
}

struct tb_writer_counts tb_writer_counts(struct tb_writer *writer) {
  pthread_mutex_lock(&writer->mutex);
  const struct tb_writer_counts counts = writer->counts;
  pthread_mutex_unlock(&writer->mutex);
  return counts;
}

void tb_writer_stop(struct tb_writer *writer) {
  pthread_mutex_lock(&writer->mutex);
  writer->stopping = true;
  pthread_cond_signal(&writer->wanted);
  pthread_mutex_unlock(&writer->mutex);
  pthread_join(writer->thread, NULL);
  pthread_cond_destroy(&writer->wanted);
  pthread_mutex_destroy(&writer->mutex);
  free(writer);
}
