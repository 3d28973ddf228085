/* Texts and their numbers in the order of their coming: each text once, found without looking at all.
 *
 * Ownership: the index lies in the arena; texts are borrowed and must live as long. */
#ifndef TB_INDEX_H
#define TB_INDEX_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/hash_index.h"
#include "base/vec.h"

struct tb_index {
  struct tc_arena *arena;
  TC_VEC(const char *) texts; /* by number */
  struct tc_hash_index index;
};

/* *number is that of the text, a new one (the old count) where it was not there. False when memory is out. */
bool tb_index_add(struct tb_index *index, const char *text, int *number);
/* Number of the text; -1: it is not there. */
int tb_index_find(const struct tb_index *index, const char *text);

#endif
