/* Walks over expressions with a stack of their own, so that no depth of a graph meets the end of the
 * machine's.
 *
 *     if (!tc_walk_begin(&walk, TC_WALK_POST, count) || !tc_walk_from(&walk, root)) → out of memory
 *     while ((e = tc_walk_next(&walk))) …
 *     if (walk.failed) → out of memory
 *
 * Each expression is met once a walk, operands in order; one walk at a time. More roots may follow where the
 * last one is finished. Where the order does not matter, a loop over ids does the same: operands have smaller
 * ones. */
#ifndef TC_LOWER_WALK_H
#define TC_LOWER_WALK_H

#include "base/vec.h"
#include "lower/expr.h"

enum tc_walk_order { TC_WALK_PRE, TC_WALK_POST }; /* before its operands, or after them */

struct tc_walk_step {
  const struct tc_expr *e;
  int next;
};
struct tc_walk {
  const struct tc_alloc *alloc; /* set it; all else begins as 0 */
  enum tc_walk_order order;
  TC_VEC(struct tc_walk_step) stack;
  TC_VEC(unsigned) met; /* by id: number of the last walk that met it */
  unsigned number;
  bool failed;
};

/* `count`: ids of what is met are below it. */
bool tc_walk_begin(struct tc_walk *walk, enum tc_walk_order order, int count);
bool tc_walk_from(struct tc_walk *walk, const struct tc_expr *root);
/* NULL at the end, and where memory is out. */
const struct tc_expr *tc_walk_next(struct tc_walk *walk);

#endif
