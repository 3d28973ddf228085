/* Memory of the shadow device: one range, whose first half nobody may touch and whose second half is the
 * memory. Blocks are powers of two, whose pages the system gives when they are touched. */
#include <string.h>
#include <sys/mman.h>

#include "device/shadow/shadow.h"

static const size_t range = (size_t)1 << TC_SHADOW_RANGE_BITS;
enum { SLACK = 64 /* bytes behind a block's end that are poisoned too */ };

bool tc_shadow_memory_open(struct tc_shadow_memory *memory) {
  void *map = mmap(NULL, 2 * range, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return false;
  if (mprotect((char *)map + range, range, PROT_READ | PROT_WRITE)) {
    munmap(map, 2 * range);
    return false;
  }
  *memory = (struct tc_shadow_memory){.front = map, .distance = range};
  return true;
}

void tc_shadow_memory_close(struct tc_shadow_memory *memory, const struct tc_alloc *alloc) {
  for (int class = 0; class < TC_SHADOW_CLASSES; class ++)
    for (struct tc_shadow_block *block = memory->free[class], *next; block; block = next) {
      next = block->next;
      TC_FREE(alloc, block);
    }
  munmap(memory->front, 2 * range);
}

void *tc_shadow_back(const struct tc_shadow *shadow, const void *address) {
  const struct tc_shadow_memory *m = &shadow->memory;
  const uintptr_t at = (uintptr_t)address, front = (uintptr_t)m->front;
  return at - front < range ? (void *)(at + m->distance) : address ? m->front : NULL;
}

static void poison(const struct tc_shadow_memory *memory, const struct tc_shadow_block *block) {
  const size_t room = (size_t)1 << (block->class + TC_SHADOW_SMALLEST_BITS);
  const size_t bytes = block->storage.bytes + SLACK < room ? block->storage.bytes + SLACK : room;
  memset((char *)block->storage.data + memory->distance, TC_SHADOW_POISON, bytes);
}

struct tc_shadow_block *tc_shadow_take(struct tc_shadow_memory *memory, const struct tc_alloc *alloc,
                                       size_t bytes) {
  int class = 0;
  while (class < TC_SHADOW_CLASSES - 1 && (size_t)1 << (class + TC_SHADOW_SMALLEST_BITS) < bytes) class ++;
  const size_t room = (size_t)1 << (class + TC_SHADOW_SMALLEST_BITS);
  if (room < bytes) return NULL;
  struct tc_shadow_block *block = memory->free[class];
  if (block) {
    memory->free[class] = block->next;
  } else {
    if (room > range - memory->used || !(block = TC_NEW(alloc, struct tc_shadow_block))) return NULL;
    block->class = class;
    block->storage.data = memory->front + memory->used;
    memory->used += room;
  }
  block->storage.bytes = bytes;
  poison(memory, block);
  return block;
}

void tc_shadow_give(struct tc_shadow_memory *memory, struct tc_shadow_block *block) {
  poison(memory, block);
  block->next = memory->free[block->class];
  memory->free[block->class] = block;
}
