/* An index from hashes to item numbers, for hash-consing: the owner keeps the items and compares them.
 *
 * A walk over the candidates of a hash:
 *     for (size_t at = tc_slots_first(&s, hash); (item = tc_slots_item(&s, at, hash, &at)) >= 0;) if
 *     (items[item] is it) …
 * Nothing is ever removed. Memory comes from the allocator given at each growth (an arena is fine). */
#ifndef TC_GUARDS_SLOTS_H
#define TC_GUARDS_SLOTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

struct tc_slot {
  uint64_t hash;
  int32_t item;
};
struct tc_slots {
  struct tc_slot *data;
  size_t cap, len;
};

enum { TC_SLOTS_FIRST = 16, TC_SLOT_FREE = -1 };

static inline size_t tc_slots_first(const struct tc_slots *s, uint64_t hash) {
  return s->cap ? (size_t)hash & (s->cap - 1) : 0;
}

/* The next item with this hash at or after position `at`; *next is where to go on. TC_SLOT_FREE: there is
 * none. */
static inline int tc_slots_item(const struct tc_slots *s, size_t at, uint64_t hash, size_t *next) {
  if (!s->cap) return TC_SLOT_FREE;
  for (; s->data[at].item != TC_SLOT_FREE; at = (at + 1) & (s->cap - 1)) {
    if (s->data[at].hash != hash) continue;
    *next = (at + 1) & (s->cap - 1);
    return s->data[at].item;
  }
  return TC_SLOT_FREE;
}

static inline void tc_slots_place_(struct tc_slot *data, size_t cap, uint64_t hash, int32_t item) {
  size_t at = (size_t)hash & (cap - 1);
  while (data[at].item != TC_SLOT_FREE) at = (at + 1) & (cap - 1);
  data[at] = (struct tc_slot){hash, item};
}

static inline bool tc_slots_grow_(const struct tc_alloc *a, struct tc_slots *s) {
  const size_t cap = s->cap ? s->cap * 2 : TC_SLOTS_FIRST;
  struct tc_slot *data = cap <= SIZE_MAX / sizeof *data ? tc_new_bytes(a, cap * sizeof *data) : NULL;
  if (!data) return false;
  for (size_t i = 0; i < cap; i++) data[i] = (struct tc_slot){0, TC_SLOT_FREE};
  for (size_t i = 0; i < s->cap; i++)
    if (s->data[i].item != TC_SLOT_FREE) tc_slots_place_(data, cap, s->data[i].hash, s->data[i].item);
  TC_FREE_ARRAY(a, s->data, s->cap);
  s->data = data;
  s->cap = cap;
  return true;
}

/* False when memory is out. */
static inline bool tc_slots_add(const struct tc_alloc *a, struct tc_slots *s, uint64_t hash, int item) {
  if (2 * (s->len + 1) > s->cap && !tc_slots_grow_(a, s)) return false;
  tc_slots_place_(s->data, s->cap, hash, item);
  s->len++;
  return true;
}

#endif
