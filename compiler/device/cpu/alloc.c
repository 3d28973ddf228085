/* Storages: size classes, a free list each (see heap.h).
 *
 * 1. Sizes of classes: 64 · {4, 5, 6, 7}/4 · 2^k: at most a quarter is wasted.
 * 2. A block keeps the number of its class and how far it lies in its allocation; nothing else is looked up
 *    when it is freed.
 * 3. Large blocks start at a huge page, and the system is asked for huge pages.
 * 4. In a hostile build fresh and freed data is filled with 0xA5. */
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "device/cpu/cpu.h"

enum {
  SMALLEST_BITS = 6,
  STEPS_BITS = 2,
  STEPS = 1 << STEPS_BITS,
  HUGE_PAGE = 2 << 20,
  HUGE_FROM = 4 << 20,
  POISON = 0xA5,
  SPINS = 64
};

struct tc_cpu_block {
  struct tc_storage storage; /* first */
  int32_t class;
  uint32_t shift; /* bytes from the allocation's start */
};
_Static_assert(sizeof(struct tc_cpu_block) <= TC_STORAGE_ALIGN, "a block's header takes one cache line");

static struct tc_cpu_block *next_of(const struct tc_cpu_block *b) { return b->storage.data; }

static size_t class_bytes(int class) {
  const size_t base = (size_t)1 << (SMALLEST_BITS + class / STEPS);
  return base + base / STEPS * (size_t)(class % STEPS);
}

/* The smallest class that holds `bytes`; -1: none. */
static int class_of(size_t bytes) {
  if (bytes <= (size_t)1 << SMALLEST_BITS) return 0;
  const int top = 63 - __builtin_clzl(bytes - 1);
  const int step = (int)((bytes - 1) >> (top - STEPS_BITS) & (STEPS - 1)) + 1;
  const int class = (top - SMALLEST_BITS) * STEPS + step;
  return class < TC_CPU_CLASSES - STEPS ? class : -1;
}

static void lock(struct tc_cpu_heap *heap) {
  for (int spins = 0; atomic_flag_test_and_set_explicit(&heap->busy, memory_order_acquire); spins++) {
    if (spins < SPINS)
      __builtin_ia32_pause();
    else
      sched_yield(); /* who holds it may not be running */
  }
}
static void unlock(struct tc_cpu_heap *heap) {
  atomic_flag_clear_explicit(&heap->busy, memory_order_release);
}

/* Under the lock: plain loads and stores will do. */
static void count(struct tc_cpu_heap *heap, int64_t bytes) {
  const int64_t live = atomic_load_explicit(heap->live, memory_order_relaxed) + bytes;
  atomic_store_explicit(heap->live, live, memory_order_relaxed);
  if (live > atomic_load_explicit(heap->peak, memory_order_relaxed))
    atomic_store_explicit(heap->peak, live, memory_order_relaxed);
}

void tc_cpu_heap_init(struct tc_cpu_heap *heap, const struct tc_alloc *alloc, _Atomic int64_t *live,
                      _Atomic int64_t *peak) {
  heap->alloc = alloc;
  heap->live = live;
  heap->peak = peak;
  atomic_flag_clear(&heap->busy);
  memset(heap->free, 0, sizeof heap->free);
}

static size_t allocation_bytes(int class) {
  const size_t data = class_bytes(class);
  return data + TC_STORAGE_ALIGN + (data >= HUGE_FROM ? HUGE_PAGE : TC_STORAGE_ALIGN);
}

static struct tc_cpu_block *make_block(struct tc_cpu_heap *heap, int class) {
  const size_t bytes = allocation_bytes(class);
  char *raw = tc_new_bytes(heap->alloc, bytes);
  if (!raw) return NULL;
  const bool huge = class_bytes(class) >= HUGE_FROM;
  const uintptr_t align = huge ? HUGE_PAGE : TC_STORAGE_ALIGN;
  const uintptr_t start = ((uintptr_t)raw + align - 1) & ~(align - 1);
  struct tc_cpu_block *block = (struct tc_cpu_block *)start;
  block->class = class;
  block->shift = (uint32_t)(start - (uintptr_t)raw);
  if (huge) madvise(block, class_bytes(class) & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE); /* only a wish */
  return block;
}

static void poison(struct tc_storage *storage) {
#ifdef TC_HOSTILE
  memset(storage->data, POISON, storage->bytes);
#else
  (void)storage;
#endif
}

/* A block from the free list; counts it beforehand, since it is given unless memory is out. */
static struct tc_cpu_block *take_free(struct tc_cpu_heap *heap, int class, int64_t counted) {
  lock(heap);
  struct tc_cpu_block *block = heap->free[class];
  if (block) heap->free[class] = next_of(block);
  count(heap, counted);
  unlock(heap);
  return block;
}

static struct tc_storage *give_up(struct tc_cpu_heap *heap, int64_t counted) {
  lock(heap);
  count(heap, -counted);
  unlock(heap);
  return NULL;
}

struct tc_storage *tc_cpu_heap_take(struct tc_cpu_heap *heap, size_t bytes, bool counted) {
  const int class = class_of(bytes);
  const int64_t weight = counted ? (int64_t)bytes : 0;
  if (class < 0) return NULL;
  struct tc_cpu_block *block = take_free(heap, class, weight);
  if (!block && !(block = make_block(heap, class))) {
    tc_cpu_heap_trim(heap); /* other classes may hold what is missing */
    if (!(block = make_block(heap, class))) return give_up(heap, weight);
  }
  block->storage.data = (char *)block + TC_STORAGE_ALIGN;
  block->storage.bytes = bytes;
  poison(&block->storage);
  return &block->storage;
}

void tc_cpu_heap_give(struct tc_cpu_heap *heap, struct tc_storage *storage, bool counted) {
  struct tc_cpu_block *block = (struct tc_cpu_block *)(void *)storage;
  poison(storage);
  lock(heap);
  count(heap, counted ? -(int64_t)storage->bytes : 0);
  storage->data = heap->free[block->class];
  heap->free[block->class] = block;
  unlock(heap);
}

void tc_cpu_heap_trim(struct tc_cpu_heap *heap) {
  for (int class = 0; class < TC_CPU_CLASSES; class ++) {
    lock(heap);
    struct tc_cpu_block *list = heap->free[class];
    heap->free[class] = NULL;
    unlock(heap);
    while (list) {
      struct tc_cpu_block *next = next_of(list);
      tc_free_bytes(heap->alloc, (char *)list - list->shift, allocation_bytes(class));
      list = next;
    }
  }
}

void *tc_cpu_temp(struct tc_cpu *cpu, size_t bytes) {
  struct tc_storage *storage = tc_cpu_heap_take(&cpu->heap, bytes, false);
  return storage ? storage->data : NULL;
}

void tc_cpu_temp_free(struct tc_cpu *cpu, void *block) {
  if (block)
    tc_cpu_heap_give(&cpu->heap, (struct tc_storage *)(void *)((char *)block - TC_STORAGE_ALIGN), false);
}
