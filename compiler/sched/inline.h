/* Substitution of loops into one another. Private to sched/.
 *
 * A scope is a loop seen at an index tuple, where a predicate holds (or NULL). Translating the loop's value
 * in a scope replaces its variables; each LOAD met goes to `load`, which keeps, inlines or replaces it.
 * Results are memoised by (expression, scope), and made in `table`, which need not be the loops' own. */
#ifndef TC_SCHED_INLINE_H
#define TC_SCHED_INLINE_H

#include "sched/schedule.h"

struct tc_inliner;
/* What stands for `load` at tuple `at`; it may return tc_inline_through(…) to inline a loop there. */
typedef const struct tc_expr *(*tc_inline_load)(struct tc_inliner *in, const struct tc_expr *load,
                                                const struct tc_index *at, const struct tc_expr *offset,
                                                const struct tc_expr *predicate);
struct tc_scope {
  int loop, index;
  const struct tc_expr *predicate;
};
struct tc_inline_memo {
  const struct tc_expr *from;
  int scope;
  const struct tc_expr *to;
};
struct tc_inline_task {
  const struct tc_expr *e;
  int scope;
}; /* to translate */
struct tc_inline_step {
  struct tc_inline_task task, through;
}; /* through: what a LOAD waits for; e NULL: not asked yet */

struct tc_inliner {
  struct tc_loops *loops;
  struct tc_expr_table *table;
  const struct tc_alloc *alloc;
  tc_inline_load load;
  void *self;                    /* of `load` */
  struct tc_inline_task through; /* what tc_inline_through asked for */
  TC_VEC(struct tc_inline_step) steps;
  TC_VEC(struct tc_scope) scopes;
  TC_VEC(struct tc_inline_memo) memo;
  struct tc_hash_index scope_index, memo_index;
};

/* An inliner within the loops' own table and arena. */
struct tc_inliner tc_inliner_of(struct tc_loops *loops, tc_inline_load load, void *self);
/* `value` (of loop `loop`, over its variables) at tuple `at`; NULL when memory is out. Not from within a
 * `load`. */
const struct tc_expr *tc_inline(struct tc_inliner *in, const struct tc_expr *value, int loop,
                                const struct tc_index *at, const struct tc_expr *predicate);
/* The same from within a `load`, which returns it. */
const struct tc_expr *tc_inline_through(struct tc_inliner *in, const struct tc_expr *value, int loop,
                                        const struct tc_index *at, const struct tc_expr *predicate);

#endif
