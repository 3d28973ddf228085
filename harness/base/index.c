/* Open addressing, at most half full. */
#include "harness/base/index.h"

#include <string.h>

#include "base/hash.h"

enum { CAPACITY_FIRST = 64 };

/* The slot that holds the text, or the free one where it belongs. */
static size_t slot_of(const struct tb_index *x, const char *text) {
  size_t at = tc_hash_bytes(0, text, strlen(text)) & (x->capacity - 1);
  while (x->texts[at] && strcmp(x->texts[at], text)) at = (at + 1) & (x->capacity - 1);
  return at;
}

static bool grow(struct tb_index *x) {
  struct tb_index bigger = {
      .arena = x->arena, .capacity = x->capacity ? 2 * x->capacity : CAPACITY_FIRST, .count = x->count};
  bigger.texts = tc_arena_bytes(x->arena, sizeof *bigger.texts * bigger.capacity);
  bigger.numbers = tc_arena_bytes(x->arena, sizeof *bigger.numbers * bigger.capacity);
  if (!bigger.texts || !bigger.numbers) return false;
  memset(bigger.texts, 0, sizeof *bigger.texts * bigger.capacity);
  for (size_t i = 0; i < x->capacity; i++) {
    if (!x->texts[i]) continue;
    const size_t at = slot_of(&bigger, x->texts[i]);
    bigger.texts[at] = x->texts[i];
    bigger.numbers[at] = x->numbers[i];
  }
  *x = bigger;
  return true;
}

bool tb_index_add(struct tb_index *x, const char *text, int *number) {
  if (2 * ((size_t)x->count + 1) > x->capacity && !grow(x)) return false;
  const size_t at = slot_of(x, text);
  if (!x->texts[at]) {
    x->texts[at] = text;
    x->numbers[at] = x->count++;
  }
  *number = x->numbers[at];
  return true;
}

int tb_index_find(const struct tb_index *x, const char *text) {
  const size_t at = x->count ? slot_of(x, text) : 0;
  return x->count && x->texts[at] ? x->numbers[at] : -1;
}
