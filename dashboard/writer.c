/* The thread that writes. */
#include "dashboard/writer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct tb_writer {
  struct tb_store *store;
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t wanted;
  struct tb_write *first, **last; /* under the mutex, as all below */
  size_t waiting;
  bool stopping;
  struct tb_writer_counts counts;
};

/* At most TB_WRITER_GROUP items; NULL: the writer is to end, and nothing is left. Under the mutex. */
static struct tb_write *take_group(struct tb_writer *writer) {
  while (!writer->first && !writer->stopping) pthread_cond_wait(&writer->wanted, &writer->mutex);
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
  return tb_store_count(store) && tb_store_run(store, tb_store_get(store, TB_SQL_COMMIT));
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
static uint64_t finish_group(struct tb_write *group) {
  uint64_t count = 0;
  while (group) {
    struct tb_write *next = group->next;
    group->done(group);
    group = next;
    count++;
  }
  return count;
}

static void *run(void *self) {
  enum { NS_PER_S = 1000000000 };
  struct tb_writer *writer = self;
  struct tb_write *group;
  pthread_mutex_lock(&writer->mutex);
  while ((group = take_group(writer))) {
    pthread_mutex_unlock(&writer->mutex);
    const double started = tc_now_ns();
    const bool good = write_group(writer->store, group);
    const double ended = tc_now_ns();
    const uint64_t count = finish_group(group);
    pthread_mutex_lock(&writer->mutex);
    writer->counts.groups++;
    writer->counts.items += count;
    writer->counts.busy_s += (ended - started) / NS_PER_S;
    if (!good) {
      writer->counts.failed_groups++;
      memcpy(writer->counts.error, writer->store->error, sizeof writer->counts.error);
    }
  }
  pthread_mutex_unlock(&writer->mutex);
  return NULL;
}

struct tb_writer *tb_writer_start(struct tb_store *store) {
  struct tb_writer *writer = calloc(1, sizeof *writer);
  if (!writer) return NULL;
  writer->store = store;
  writer->last = &writer->first;
  pthread_mutex_init(&writer->mutex, NULL);
  pthread_cond_init(&writer->wanted, NULL);
  if (!pthread_create(&writer->thread, NULL, run, writer)) return writer;
  free(writer);
  return NULL;
}

void tb_writer_put(struct tb_writer *writer, struct tb_write *item) {
  item->next = NULL;
  pthread_mutex_lock(&writer->mutex);
  const bool was_empty = !writer->first;
  *writer->last = item;
  writer->last = &item->next;
  writer->waiting++;
  if (was_empty) pthread_cond_signal(&writer->wanted);
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
