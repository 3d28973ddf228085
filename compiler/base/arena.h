/* An arena: allocations of one compile, freed together.
 *
 * Ownership: the arena owns every block. Threads: one at a time. A failed allocation returns NULL
 * and leaves the arena usable. In a hostile build fresh and freed memory is filled with 0xA5. */
#ifndef TC_BASE_ARENA_H
#define TC_BASE_ARENA_H

#include <stdbool.h>

#include "base/alloc.h"

struct tc_arena;

struct tc_arena *tc_arena_new(const struct tc_alloc *parent); /* NULL when memory is out */
void tc_arena_free(struct tc_arena *arena);                   /* NULL is fine */
/* 16-byte aligned, not cleared. */
void *tc_arena_bytes(struct tc_arena *arena, size_t bytes);
/* The arena as an allocator (freeing gives back only the newest block): for TC_NEW, TC_VEC, … */
const struct tc_alloc *tc_arena_alloc(struct tc_arena *arena);
const struct tc_alloc *tc_arena_parent(const struct tc_arena *arena); /* what its chunks come from */
char *tc_arena_text(struct tc_arena *arena, const char *text);        /* copy of a C string */
size_t tc_arena_used(const struct tc_arena *arena);                   /* bytes handed out */
bool tc_arena_failed(const struct tc_arena *arena);                   /* has it ever refused an allocation? */

#endif
