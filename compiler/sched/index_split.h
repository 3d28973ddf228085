/* Index splits in the making. Private to sched/: index_split.c finds parts and their values,
 * index_split_turns.c joins parts that differ in constants alone. */
#ifndef TC_SCHED_INDEX_SPLIT_H
#define TC_SCHED_INDEX_SPLIT_H

#include "sched/draft.h"

/* What a comparison says of the dim that is split: var < at (`contrary`: not so). border: number of `at`
 * among the borders; -1: it is none, and `constant` is what the comparison always is. */
struct tc_index_split_condition {
  bool known, contrary, constant;
  int border;
  tc_sym var, at;
};

struct tc_index_splitter {
  struct tc_draft *d;
  const struct tc_alloc *alloc;                /* of the draft's scratch */
  int n;                                       /* expressions of the draft when splitting began */
  struct tc_index_split_condition *conditions; /* by expression */
  tc_sym var, extent;
  TC_VEC(tc_sym) borders; /* between parts, in order */
  int part;               /* that is under way: from border part - 1 to border part */
  int *stamps;            /* by expression: part + 1 of the memo */
  const struct tc_expr **memo;
  const struct tc_expr ***values; /* by part: of the items */
};

static inline int tc_index_split_parts(const struct tc_index_splitter *c) { return (int)c->borders.len + 1; }
static inline tc_sym tc_index_split_from(const struct tc_index_splitter *c, int part) {
  return part ? c->borders.data[part - 1] : tc_sym_const(0);
}
static inline tc_sym tc_index_split_to(const struct tc_index_splitter *c, int part) {
  return part < (int)c->borders.len ? c->borders.data[part] : c->extent;
}

/* Fills d->splits from the parts' values; false when memory is out. */
bool tc_index_split_join(struct tc_index_splitter *c);

#endif
