/* Chunks grow with the arena: a large one is filled from its start, so it asks for huge pages, of which each
 * is cleared by one fault instead of by hundreds. What is not reached of a chunk is not touched, and so costs
 * nothing. */
#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum {
  ARENA_ALIGN = 16,
  ARENA_FIRST_CHUNK = 16 << 10,
  ARENA_LARGEST_CHUNK = 16 << 20,
  ARENA_HUGE_PAGE =
      2 << 20, /* of most machines; where pages have another size, it is advice that helps less */
};

struct chunk {
  struct chunk *previous;
  size_t bytes; /* of the whole block, header included */
  size_t used;  /* header included */
};

struct tc_arena {
  struct tc_alloc as_alloc;
  const struct tc_alloc *parent;
  struct chunk *newest;
  size_t next_chunk;
  size_t used;
  bool failed;
};

static void poison(void *block, size_t bytes) {
#ifdef TC_HOSTILE
  memset(block, 0xA5, bytes);
#else
  (void)block;
  (void)bytes;
#endif
}

/* The whole huge pages inside of a chunk; advice, which the system may not take. */
static void advise(struct chunk *chunk) {
#ifdef MADV_HUGEPAGE
  const uintptr_t start = (uintptr_t)chunk, mask = ~(uintptr_t)(ARENA_HUGE_PAGE - 1);
  const uintptr_t first = (start + ARENA_HUGE_PAGE - 1) & mask, end = (start + chunk->bytes) & mask;
  if (first < end) (void)madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
  (void)chunk;
#endif
}

static size_t round_up(size_t bytes) { return (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1); }

static size_t header_bytes(void) { return round_up(sizeof(struct chunk)); }

static void *resize_in_arena(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  struct tc_arena *arena = self;
  struct chunk *chunk = arena->newest;
  const size_t old_rounded = round_up(old_bytes), new_rounded = round_up(new_bytes);
  const bool newest = block && chunk && (char *)block + old_rounded == (char *)chunk + chunk->used;
  if (newest && new_rounded >= new_bytes && chunk->used - old_rounded + new_rounded <= chunk->bytes) {
    chunk->used = chunk->used - old_rounded + new_rounded;
    arena->used = arena->used - old_rounded + new_rounded;
    return new_bytes ? block : NULL;
  }
  if (!new_bytes) return NULL;
  if (block && new_rounded <= old_rounded) return block;
  void *moved = tc_arena_bytes(arena, new_bytes);
  if (moved && block) memcpy(moved, block, old_bytes);
  return moved;
}

struct tc_arena *tc_arena_new(const struct tc_alloc *parent) {
  struct tc_arena *arena = TC_NEW(parent, struct tc_arena);
  if (!arena) return NULL;
  *arena = (struct tc_arena){
      .as_alloc = {resize_in_arena, arena}, .parent = parent, .next_chunk = ARENA_FIRST_CHUNK};
  return arena;
}

void tc_arena_free(struct tc_arena *arena) {
  if (!arena) return;
  for (struct chunk *chunk = arena->newest; chunk;) {
    struct chunk *previous = chunk->previous;
    const size_t bytes = chunk->bytes;
    poison(chunk, bytes);
    tc_free_bytes(arena->parent, chunk, bytes);
    chunk = previous;
  }
  TC_FREE(arena->parent, arena);
}

static bool grow(struct tc_arena *arena, size_t bytes) {
  size_t size = arena->next_chunk;
  if (bytes > SIZE_MAX / 2) return false;
  if (size < bytes + header_bytes()) size = bytes + header_bytes();
  struct chunk *chunk = tc_new_bytes(arena->parent, size);
  if (!chunk) return false;
  poison(chunk, size);
  *chunk = (struct chunk){arena->newest, size, header_bytes()};
  arena->newest = chunk;
  advise(chunk);
  if (arena->next_chunk < ARENA_LARGEST_CHUNK) arena->next_chunk *= 2;
  return true;
}

void *tc_arena_bytes(struct tc_arena *arena, size_t bytes) {
  const size_t rounded = round_up(bytes ? bytes : 1);
  if (rounded < bytes) return NULL;
  if (!arena->newest || arena->newest->bytes - arena->newest->used < rounded)
    if (!grow(arena, rounded)) return arena->failed = true, NULL;
  void *block = (char *)arena->newest + arena->newest->used;
  arena->newest->used += rounded;
  arena->used += rounded;
  return block;
}

const struct tc_alloc *tc_arena_alloc(struct tc_arena *arena) { return &arena->as_alloc; }

const struct tc_alloc *tc_arena_parent(const struct tc_arena *arena) { return arena->parent; }

char *tc_arena_text(struct tc_arena *arena, const char *text) {
  const size_t bytes = strlen(text) + 1;
  char *copy = tc_arena_bytes(arena, bytes);
  return copy ? memcpy(copy, text, bytes) : NULL;
}

bool tc_arena_failed(const struct tc_arena *arena) { return arena->failed; }

size_t tc_arena_used(const struct tc_arena *arena) { return arena->used; }
