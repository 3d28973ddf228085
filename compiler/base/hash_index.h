/* An index from hashes to item numbers, for whatever is found by its hash: the owner keeps the items and
 * compares them.
 *
 * A walk over the candidates of a hash:
 *     for (size_t at = tc_hash_index_first(&x, hash); (item = tc_hash_index_next(&x, hash, &at)) >= 0;)
 *       if (items[item] is it) …
 * Nothing is ever removed. Memory comes from the allocator given at each growth (an arena is fine). */
#ifndef TC_BASE_HASH_INDEX_H
#define TC_BASE_HASH_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

struct tc_hash_entry {
  uint64_t hash;
  int32_t number; /* item + 1; 0: free */
};
/* Open addressing, at most half full; all zero is an empty one. */
struct tc_hash_index {
  struct tc_hash_entry *entries;
  size_t cap, len; /* cap: a power of two, or 0 */
};

enum { TC_HASH_INDEX_FIRST = 16 };

static inline size_t tc_hash_index_first(const struct tc_hash_index *x, uint64_t hash) {
  return x->cap ? (size_t)hash & (x->cap - 1) : 0;
}

/* The next item with this hash at or after *at, which becomes where to go on; -1: there is none. */
static inline int tc_hash_index_next(const struct tc_hash_index *x, uint64_t hash, size_t *at) {
  if (!x->cap) return -1;
  for (size_t i = *at; x->entries[i].number; i = (i + 1) & (x->cap - 1)) {
    if (x->entries[i].hash != hash) continue;
    *at = (i + 1) & (x->cap - 1);
    return x->entries[i].number - 1;
  }
  return -1;
}

/* The entry of the item that tc_hash_index_next has just given: its number may be changed for one of the same
 * hash. */
static inline struct tc_hash_entry *tc_hash_index_newest(const struct tc_hash_index *x, size_t at) {
  return &x->entries[(at - 1) & (x->cap - 1)];
}

bool tc_hash_index_grow_(const struct tc_alloc *a, struct tc_hash_index *x);

static inline void tc_hash_index_place_(struct tc_hash_index *x, struct tc_hash_entry entry) {
  size_t at = (size_t)entry.hash & (x->cap - 1);
  while (x->entries[at].number) at = (at + 1) & (x->cap - 1);
  x->entries[at] = entry;
}

/* False when memory is out. */
static inline bool tc_hash_index_add(const struct tc_alloc *a, struct tc_hash_index *x, uint64_t hash,
                                     int item) {
  if (2 * (x->len + 1) > x->cap && !tc_hash_index_grow_(a, x)) return false;
  tc_hash_index_place_(x, (struct tc_hash_entry){hash, item + 1});
  x->len++;
  return true;
}

void tc_hash_index_free(const struct tc_alloc *a, struct tc_hash_index *x);

#endif
