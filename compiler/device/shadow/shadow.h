/* A device for tests: the CPU's kernels, behind what a GPU has.
 *
 * 1. Addresses are no host addresses. Storages hold addresses in a range without access; the memory lies at a
 *    constant distance, which is known here alone. So whatever follows an address on the host faults, and a
 *    kernel that is given memory of the host faults too.
 * 2. Work runs late: it waits in its queue until somebody waits for it. What the host is to read is poisoned
 *    when the copy is ordered, fresh and freed memory always: whoever forgets to wait reads poison.
 * 3. What `run` and eager kernels are given is copied: it may be gone before the work is done.
 * 4. Memory is freed by the queue, in its turn.
 *
 * One lock, which its holder may take again, guards all of it. */
#ifndef TC_DEVICE_SHADOW_SHADOW_H
#define TC_DEVICE_SHADOW_SHADOW_H

#include <pthread.h>

#include "base/arena.h"
#include "device/device.h"

struct tc_shadow;

enum { TC_SHADOW_POISON = 0xCB };

/* --- memory.c --- */
enum { TC_SHADOW_RANGE_BITS = 36, TC_SHADOW_SMALLEST_BITS = 6 };
enum { TC_SHADOW_CLASSES = TC_SHADOW_RANGE_BITS - TC_SHADOW_SMALLEST_BITS + 1 }; /* powers of two */
struct tc_shadow_block {
  struct tc_storage storage; /* first */
  int class;
  struct tc_shadow_block *next; /* of the free ones */
};
struct tc_shadow_memory {
  char *front;     /* addresses that storages hold */
  size_t distance; /* from there to the memory */
  size_t used;     /* bytes of the range that were ever given out */
  size_t waiting;  /* bytes of storages that the queue is yet to free */
  struct tc_shadow_block *free[TC_SHADOW_CLASSES];
};
bool tc_shadow_memory_open(struct tc_shadow_memory *memory);
void tc_shadow_memory_close(struct tc_shadow_memory *memory, const struct tc_alloc *alloc);
/* NULL: memory or the range is out. */
struct tc_shadow_block *tc_shadow_take(struct tc_shadow_memory *memory, const struct tc_alloc *alloc,
                                       size_t bytes);
void tc_shadow_give(struct tc_shadow_memory *memory, struct tc_shadow_block *block);
/* Where the memory of a device's address lies. An address outside of the range stays one without access. */
void *tc_shadow_back(const struct tc_shadow *shadow, const void *address);

/* --- queue.c --- */
/* One piece of work. It lies in its own arena, and so does what it was given. */
struct tc_shadow_work {
  struct tc_arena *arena;
  struct tc_shadow_work *next;
  tc_status (*run)(struct tc_shadow *shadow, struct tc_shadow_work *work, struct tc_error *err);
};
struct tc_queue {
  struct tc_shadow_work *head, **tail;
  int waiting;
  struct tc_queue *next; /* of the device's queues */
};

struct tc_shadow {
  struct tc_device device; /* first */
  struct tc_device *cpu;   /* does the work */
  const struct tc_alloc *alloc;
  pthread_mutex_t lock;
  struct tc_shadow_memory memory;
  struct tc_queue first; /* the default queue; the others follow it */
  struct tc_error late;  /* the first failure of work since somebody was told; status TC_OK: none */
};

static inline struct tc_shadow *tc_shadow_of(struct tc_device *device) {
  return (struct tc_shadow *)(void *)device;
}

/* A piece of work of `bytes`, zeroed, which begins with a tc_shadow_work. NULL: memory is out. */
void *tc_shadow_work_new(struct tc_shadow *shadow, size_t bytes,
                         tc_status (*run)(struct tc_shadow *, struct tc_shadow_work *, struct tc_error *));
/* A copy in the work's arena; sets *failed where memory is out. */
void *tc_shadow_keep(struct tc_shadow_work *work, const void *from, size_t bytes, bool *failed);
/* Gives it to a queue (NULL: the default one), or throws it away where it could not be made whole. */
tc_status tc_shadow_order(struct tc_shadow *shadow, struct tc_queue *queue, struct tc_shadow_work *work,
                          bool failed, struct tc_error *err);
/* Does all that a queue was given. */
void tc_shadow_finish(struct tc_shadow *shadow, struct tc_queue *queue);
/* The same for all queues, and tells what failed since the last time. */
tc_status tc_shadow_synchronize(struct tc_device *device, struct tc_error *err);

tc_status tc_shadow_queue_new(struct tc_device *device, struct tc_queue **out, struct tc_error *err);
void tc_shadow_queue_free(struct tc_device *device, struct tc_queue *queue);
tc_status tc_shadow_event_new(struct tc_device *device, struct tc_event **out, struct tc_error *err);
void tc_shadow_event_free(struct tc_device *device, struct tc_event *event);
tc_status tc_shadow_event_record(struct tc_device *device, struct tc_event *event, struct tc_queue *queue,
                                 struct tc_error *err);
tc_status tc_shadow_event_wait(struct tc_device *device, struct tc_event *event, struct tc_queue *queue,
                               struct tc_error *err);
tc_status tc_shadow_event_synchronize(struct tc_device *device, struct tc_event *event, struct tc_error *err);
tc_status tc_shadow_event_elapsed(struct tc_device *device, struct tc_event *from, struct tc_event *to,
                                  double *ns, struct tc_error *err);
tc_status tc_shadow_copy(struct tc_device *device, struct tc_queue *queue, const struct tc_copy *copy,
                         struct tc_error *err);
tc_status tc_shadow_fill(struct tc_device *device, struct tc_queue *queue, void *to, int byte, size_t bytes,
                         struct tc_error *err);

/* --- work.c: eager kernels and launch lists --- */
tc_status tc_shadow_eager(struct tc_device *device, const struct tc_eager_call *call, struct tc_error *err);
tc_status tc_shadow_run(struct tc_device *device, const struct tc_run *run, struct tc_error *err);
tc_status tc_shadow_record(struct tc_device *device, const struct tc_run *run, struct tc_recorded **out,
                           struct tc_error *err);
tc_status tc_shadow_time(struct tc_device *device, const struct tc_run *run, double *ns,
                         struct tc_error *err);

#endif
