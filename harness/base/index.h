/* Texts and their numbers in the order of their coming: each text once, found without looking at all.
 *
 * Ownership: slots in the arena; texts are borrowed and must live as long. */
#ifndef TB_INDEX_H
#define TB_INDEX_H

#include <stdbool.h>

#include "base/arena.h"

struct tb_index {
  struct tc_arena *arena;
  const char **texts; /* by slot; NULL: free */
  int *numbers;
  size_t capacity; /* a power of two, or 0 */
  int count;
};

/* *number is that of the text, a new one (the old count) where it was not there. False when memory is out. */
bool tb_index_add(struct tb_index *index, const char *text, int *number);
/* Number of the text; -1: it is not there. */
int tb_index_find(const struct tb_index *index, const char *text);

#endif
