#include "harness/base/index.h"

#include <string.h>

#include "base/hash.h"

static uint64_t hash_of(const char *text) { return tc_hash_bytes(0, text, strlen(text)); }

static int find(const struct tb_index *x, uint64_t hash, const char *text) {
  size_t at = tc_hash_index_first(&x->index, hash);
  for (int i; (i = tc_hash_index_next(&x->index, hash, &at)) >= 0;)
    if (!strcmp(x->texts.data[i], text)) return i;
  return -1;
}

bool tb_index_add(struct tb_index *x, const char *text, int *number) {
  const struct tc_alloc *alloc = tc_arena_alloc(x->arena);
  const uint64_t hash = hash_of(text);
  *number = find(x, hash, text);
  if (*number >= 0) return true;
  *number = (int)x->texts.len;
  return tc_vec_push(alloc, &x->texts, text) && tc_hash_index_add(alloc, &x->index, hash, *number);
}

int tb_index_find(const struct tb_index *x, const char *text) { return find(x, hash_of(text), text); }
