/* Queues of the shadow device: work is kept until somebody waits for it, and then done in its order.
 *
 * 1. Work leaves its queue before it is done, so that work may wait for another queue.
 * 2. An event is numbered anew by each record: who waits, waits for the record that was the newest then.
 * 3. A queue that has grown long is done at once, as a machine's queue is finite too. */
#include <string.h>

#include "base/clock.h"
#include "device/shadow/shadow.h"

enum { MOST_WAITING = 4096 };

struct tc_event {
  struct tc_queue *queue; /* that was to reach it */
  uint64_t recorded, reached;
  double ns; /* when it was reached */
};

static void lock(struct tc_shadow *shadow) { pthread_mutex_lock(&shadow->lock); }
static void unlock(struct tc_shadow *shadow) { pthread_mutex_unlock(&shadow->lock); }

void *tc_shadow_work_new(struct tc_shadow *shadow, size_t bytes,
                         tc_status (*run)(struct tc_shadow *, struct tc_shadow_work *, struct tc_error *)) {
  struct tc_arena *arena = tc_arena_new(shadow->alloc);
  struct tc_shadow_work *work = arena ? tc_new_zeroed(tc_arena_alloc(arena), 1, bytes) : NULL;
  if (!work) {
    if (arena) tc_arena_free(arena);
    return NULL;
  }
  work->arena = arena;
  work->run = run;
  return work;
}

void *tc_shadow_keep(struct tc_shadow_work *work, const void *from, size_t bytes, bool *failed) {
  void *copy = tc_new_bytes(tc_arena_alloc(work->arena), bytes ? bytes : 1);
  if (!copy)
    *failed = true;
  else if (bytes)
    memcpy(copy, from, bytes);
  return copy;
}

tc_status tc_shadow_order(struct tc_shadow *shadow, struct tc_queue *queue, struct tc_shadow_work *work,
                          bool failed, struct tc_error *err) {
  struct tc_queue *q = queue ? queue : &shadow->first;
  if (!work) return tc_fail_memory(err, "shadow");
  if (failed) {
    tc_arena_free(work->arena);
    return tc_fail_memory(err, "shadow");
  }
  lock(shadow);
  *q->tail = work;
  q->tail = &work->next;
  if (++q->waiting >= MOST_WAITING) tc_shadow_finish(shadow, q);
  unlock(shadow);
  return TC_OK;
}

static void do_first(struct tc_shadow *shadow, struct tc_queue *queue) {
  struct tc_shadow_work *work = queue->head;
  struct tc_error err;
  queue->head = work->next;
  if (!queue->head) queue->tail = &queue->head;
  queue->waiting--;
  const tc_status status = work->run(shadow, work, &err);
  if (status && !shadow->late.status) {
    shadow->late = err;
    shadow->late.status = status;
  }
  tc_arena_free(work->arena);
}

void tc_shadow_finish(struct tc_shadow *shadow, struct tc_queue *queue) {
  struct tc_queue *q = queue ? queue : &shadow->first;
  lock(shadow);
  while (q->head) do_first(shadow, q);
  unlock(shadow);
}

static tc_status tell_failure(struct tc_shadow *shadow, struct tc_error *err) {
  const tc_status status = shadow->late.status;
  if (status && err) *err = shadow->late;
  shadow->late.status = TC_OK;
  return status;
}

tc_status tc_shadow_synchronize(struct tc_device *device, struct tc_error *err) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  lock(shadow);
  for (struct tc_queue *q = &shadow->first; q; q = q->next) tc_shadow_finish(shadow, q);
  const tc_status status = tell_failure(shadow, err);
  unlock(shadow);
  return status;
}

tc_status tc_shadow_queue_new(struct tc_device *device, struct tc_queue **out, struct tc_error *err) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  struct tc_queue *queue = TC_NEW(shadow->alloc, struct tc_queue);
  if (!queue) return tc_fail_memory(err, "shadow");
  queue->tail = &queue->head;
  lock(shadow);
  queue->next = shadow->first.next;
  shadow->first.next = queue;
  unlock(shadow);
  *out = queue;
  return TC_OK;
}

void tc_shadow_queue_free(struct tc_device *device, struct tc_queue *queue) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  tc_shadow_finish(shadow, queue);
  lock(shadow);
  struct tc_queue *before = &shadow->first;
  while (before->next != queue) before = before->next;
  before->next = queue->next;
  unlock(shadow);
  TC_FREE(shadow->alloc, queue);
}

/* --- events --- */

struct event_work {
  struct tc_shadow_work work; /* first */
  struct tc_event *event;
  uint64_t number;
};

static tc_status reach_event(struct tc_shadow *shadow, struct tc_shadow_work *work, struct tc_error *err) {
  struct event_work *w = (struct event_work *)work;
  (void)shadow, (void)err;
  w->event->reached = w->number;
  w->event->ns = tc_now_ns();
  return TC_OK;
}

static void wait_for(struct tc_shadow *shadow, struct tc_event *event, uint64_t number) {
  while (event->reached < number && event->queue->head) do_first(shadow, event->queue);
}

static tc_status wait_for_event(struct tc_shadow *shadow, struct tc_shadow_work *work, struct tc_error *err) {
  struct event_work *w = (struct event_work *)work;
  (void)err;
  wait_for(shadow, w->event, w->number);
  return TC_OK;
}

static tc_status order_event(struct tc_device *device, struct tc_event *event, struct tc_queue *queue,
                             tc_status (*run)(struct tc_shadow *, struct tc_shadow_work *, struct tc_error *),
                             struct tc_error *err) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  struct event_work *w = tc_shadow_work_new(shadow, sizeof *w, run);
  if (!w) return tc_fail_memory(err, "shadow");
  w->event = event;
  w->number = event->recorded;
  return tc_shadow_order(shadow, queue, &w->work, false, err);
}

tc_status tc_shadow_event_new(struct tc_device *device, struct tc_event **out, struct tc_error *err) {
  *out = TC_NEW(tc_shadow_of(device)->alloc, struct tc_event);
  return *out ? TC_OK : tc_fail_memory(err, "shadow");
}

void tc_shadow_event_free(struct tc_device *device, struct tc_event *event) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  lock(shadow); /* those that wait for it, too */
  for (struct tc_queue *q = &shadow->first; q; q = q->next) tc_shadow_finish(shadow, q);
  unlock(shadow);
  TC_FREE(shadow->alloc, event);
}

tc_status tc_shadow_event_record(struct tc_device *device, struct tc_event *event, struct tc_queue *queue,
                                 struct tc_error *err) {
  event->queue = queue ? queue : &tc_shadow_of(device)->first;
  event->recorded++;
  return order_event(device, event, queue, reach_event, err);
}

tc_status tc_shadow_event_wait(struct tc_device *device, struct tc_event *event, struct tc_queue *queue,
                               struct tc_error *err) {
  return order_event(device, event, queue, wait_for_event, err);
}

tc_status tc_shadow_event_synchronize(struct tc_device *device, struct tc_event *event,
                                      struct tc_error *err) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  lock(shadow);
  wait_for(shadow, event, event->recorded);
  const tc_status status = tell_failure(shadow, err);
  unlock(shadow);
  return status;
}

tc_status tc_shadow_event_elapsed(struct tc_device *device, struct tc_event *from, struct tc_event *to,
                                  double *ns, struct tc_error *err) {
  tc_status status = tc_shadow_event_synchronize(device, from, err);
  if (!status) status = tc_shadow_event_synchronize(device, to, err);
  *ns = to->ns - from->ns;
  return status;
}

/* --- copies --- */

struct copy_work {
  struct tc_shadow_work work; /* first */
  struct tc_copy copy;        /* addresses of the host */
};

static tc_status do_copy(struct tc_shadow *shadow, struct tc_shadow_work *work, struct tc_error *err) {
  return shadow->cpu->methods->copy(shadow->cpu, NULL, &((struct copy_work *)work)->copy, err);
}

/* The host's rows, one behind the other, as they are now. */
static void keep_rows(struct copy_work *w, bool *failed) {
  struct tc_copy *c = &w->copy;
  char *rows = tc_new_bytes(tc_arena_alloc(w->work.arena), c->rows * c->row_bytes + 1);
  if (!rows) {
    *failed = true;
    return;
  }
  for (size_t i = 0; i < c->rows && c->row_bytes; i++)
    memcpy(rows + i * c->row_bytes, (const char *)c->from + i * c->from_pitch, c->row_bytes);
  c->from = rows;
  c->from_pitch = c->row_bytes;
}

tc_status tc_shadow_copy(struct tc_device *device, struct tc_queue *queue, const struct tc_copy *copy,
                         struct tc_error *err) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  struct copy_work *w = tc_shadow_work_new(shadow, sizeof *w, do_copy);
  bool failed = false;
  if (!w) return tc_fail_memory(err, "shadow");
  w->copy = *copy;
  if (copy->kind == TC_COPY_TO_DEVICE)
    keep_rows(w, &failed);
  else
    w->copy.from = tc_shadow_back(shadow, copy->from);
  if (copy->kind == TC_COPY_TO_HOST)
    for (size_t i = 0; i < copy->rows && copy->row_bytes; i++)
      memset((char *)copy->to + i * copy->to_pitch, TC_SHADOW_POISON, copy->row_bytes);
  else
    w->copy.to = tc_shadow_back(shadow, copy->to);
  return tc_shadow_order(shadow, queue, &w->work, failed, err);
}

struct fill_work {
  struct tc_shadow_work work; /* first */
  void *to;
  int byte;
  size_t bytes;
};

static tc_status do_fill(struct tc_shadow *shadow, struct tc_shadow_work *work, struct tc_error *err) {
  const struct fill_work *w = (struct fill_work *)work;
  return shadow->cpu->methods->fill(shadow->cpu, NULL, w->to, w->byte, w->bytes, err);
}

tc_status tc_shadow_fill(struct tc_device *device, struct tc_queue *queue, void *to, int byte, size_t bytes,
                         struct tc_error *err) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  struct fill_work *w = tc_shadow_work_new(shadow, sizeof *w, do_fill);
  if (!w) return tc_fail_memory(err, "shadow");
  w->to = tc_shadow_back(shadow, to);
  w->byte = byte;
  w->bytes = bytes;
  return tc_shadow_order(shadow, queue, &w->work, false, err);
}
