/* The shadow device: storages, code, opening and closing. What it does in its own time stands in queue.c and
 * work.c. */
#include "device/shadow/shadow.h"

static const size_t MOST_WAITING = (size_t)256 << 20; /* bytes that the queue is yet to free */

/* --- storages --- */

struct free_work {
  struct tc_shadow_work work; /* first */
  struct tc_shadow_block *block;
};

static tc_status do_free(struct tc_shadow *shadow, struct tc_shadow_work *work, struct tc_error *err) {
  struct tc_shadow_block *block = ((struct free_work *)work)->block;
  (void)err;
  shadow->memory.waiting -= block->storage.bytes;
  tc_shadow_give(&shadow->memory, block);
  return TC_OK;
}

/* Without memory to wait its turn, it waits for the queue. */
static void storage_release(struct tc_storage *storage) {
  struct tc_shadow *shadow = tc_shadow_of(storage->device);
  struct free_work *w = tc_shadow_work_new(shadow, sizeof *w, do_free);
  pthread_mutex_lock(&shadow->lock);
  atomic_fetch_sub(&shadow->device.bytes_live, (int64_t)storage->bytes);
  if (w) {
    w->block = (struct tc_shadow_block *)(void *)storage;
    shadow->memory.waiting += storage->bytes;
    (void)tc_shadow_order(shadow, NULL, &w->work, false, NULL);
  } else {
    tc_shadow_finish(shadow, NULL);
    tc_shadow_give(&shadow->memory, (struct tc_shadow_block *)(void *)storage);
  }
  pthread_mutex_unlock(&shadow->lock);
}

static struct tc_storage *shadow_alloc(struct tc_device *device, size_t bytes) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  pthread_mutex_lock(&shadow->lock);
  if (shadow->memory.waiting > MOST_WAITING) tc_shadow_finish(shadow, NULL);
  struct tc_shadow_block *block = tc_shadow_take(&shadow->memory, shadow->alloc, bytes);
  if (!block) {
    tc_shadow_finish(shadow, NULL); /* which may free what is missing */
    block = tc_shadow_take(&shadow->memory, shadow->alloc, bytes);
  }
  if (block) {
    const int64_t live = atomic_fetch_add(&device->bytes_live, (int64_t)bytes) + (int64_t)bytes;
    if (live > device->bytes_peak) device->bytes_peak = live;
    atomic_init(&block->storage.references, 1);
    block->storage.version = 0;
    block->storage.id = tc_storage_next_id();
    block->storage.device = device;
    block->storage.release = storage_release;
  }
  pthread_mutex_unlock(&shadow->lock);
  return block ? &block->storage : NULL;
}

static void shadow_trim(struct tc_device *device) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  tc_shadow_finish(shadow, NULL);
  shadow->cpu->methods->trim(shadow->cpu);
}

/* --- code: the CPU's --- */

static tc_status shadow_load(struct tc_device *device, const struct tc_blob *blob, struct tc_loaded **out,
                             struct tc_error *err) {
  struct tc_device *cpu = tc_shadow_of(device)->cpu;
  return cpu->methods->load(cpu, blob, out, err);
}

static const struct tc_kernel_handle *shadow_symbol(struct tc_device *device, struct tc_loaded *loaded,
                                                    const char *name) {
  struct tc_device *cpu = tc_shadow_of(device)->cpu;
  return cpu->methods->symbol(cpu, loaded, name);
}

static void finish_all(struct tc_shadow *shadow) {
  for (struct tc_queue *q = &shadow->first; q; q = q->next) tc_shadow_finish(shadow, q);
}

static void shadow_unload(struct tc_device *device, struct tc_loaded *loaded) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  finish_all(shadow);
  shadow->cpu->methods->unload(shadow->cpu, loaded);
}

static void shadow_forget(struct tc_device *device, struct tc_recorded *recorded) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  finish_all(shadow);
  shadow->cpu->methods->forget(shadow->cpu, recorded);
}

static const char *shadow_library(struct tc_device *device, struct tc_error *err) {
  struct tc_device *cpu = tc_shadow_of(device)->cpu;
  return cpu->methods->library(cpu, err);
}

static double shadow_library_opening_ns(struct tc_device *device) {
  struct tc_device *cpu = tc_shadow_of(device)->cpu;
  return cpu->methods->library_opening_ns(cpu);
}

/* --- opening --- */

static void shadow_close(struct tc_device *device) {
  struct tc_shadow *shadow = tc_shadow_of(device);
  finish_all(shadow);
  tc_shadow_memory_close(&shadow->memory, shadow->alloc);
  pthread_mutex_destroy(&shadow->lock);
  TC_FREE(shadow->alloc, shadow);
}

static bool open_lock(pthread_mutex_t *lock) {
  pthread_mutexattr_t attributes;
  if (pthread_mutexattr_init(&attributes)) return false;
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  const bool good = !pthread_mutex_init(lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
  return good;
}

tc_status tc_device_shadow_open(const struct tc_alloc *alloc, struct tc_device *cpu, struct tc_device **out,
                                struct tc_error *err) {
  static const struct tc_device_methods methods = {
      .alloc = shadow_alloc,
      .trim = shadow_trim,
      .queue_new = tc_shadow_queue_new,
      .queue_free = tc_shadow_queue_free,
      .event_new = tc_shadow_event_new,
      .event_free = tc_shadow_event_free,
      .event_record = tc_shadow_event_record,
      .event_wait = tc_shadow_event_wait,
      .event_synchronize = tc_shadow_event_synchronize,
      .event_elapsed = tc_shadow_event_elapsed,
      .copy = tc_shadow_copy,
      .fill = tc_shadow_fill,
      .synchronize = tc_shadow_synchronize,
      .load = shadow_load,
      .symbol = shadow_symbol,
      .unload = shadow_unload,
      .run = tc_shadow_run,
      .record = tc_shadow_record,
      .forget = shadow_forget,
      .time = tc_shadow_time,
      .library = shadow_library,
      .library_opening_ns = shadow_library_opening_ns,
      .close = shadow_close,
  };
  struct tc_shadow *shadow = TC_NEW(alloc, struct tc_shadow);
  if (!shadow || !tc_shadow_memory_open(&shadow->memory)) goto fail;
  if (!open_lock(&shadow->lock)) goto fail_memory;
  shadow->alloc = alloc;
  shadow->cpu = cpu;
  shadow->first.tail = &shadow->first.head;
  shadow->device = (struct tc_device){
      .base = {.name = "shadow", .read = tc_device_read, .write = tc_device_write},
      .methods = &methods,
      .target = cpu->target,
      .threads = cpu->threads,
  };
  shadow->device.target.device = shadow->device.base.name;
  for (int op = 0; op < TC_OP_COUNT; op++)
    if (cpu->eager[op]) shadow->device.eager[op] = tc_shadow_eager;
  *out = &shadow->device;
  return TC_OK;
fail_memory:
  tc_shadow_memory_close(&shadow->memory, alloc);
fail:
  if (shadow) TC_FREE(alloc, shadow);
  return tc_fail(err, TC_NOMEM, "shadow", "no memory for the device and its range of addresses");
}
