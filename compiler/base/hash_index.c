#include "base/hash_index.h"

bool tc_hash_index_grow_(const struct tc_alloc *a, struct tc_hash_index *x) {
  struct tc_hash_index bigger = {.cap = x->cap ? x->cap * 2 : TC_HASH_INDEX_FIRST, .len = x->len};
  bigger.entries = TC_NEW_ARRAY(a, struct tc_hash_entry, bigger.cap);
  if (!bigger.entries) return false;
  for (size_t i = 0; i < x->cap; i++)
    if (x->entries[i].number) tc_hash_index_place_(&bigger, x->entries[i]);
  TC_FREE_ARRAY(a, x->entries, x->cap);
  *x = bigger;
  return true;
}

void tc_hash_index_free(const struct tc_alloc *a, struct tc_hash_index *x) {
  TC_FREE_ARRAY(a, x->entries, x->cap);
  *x = (struct tc_hash_index){0};
}
