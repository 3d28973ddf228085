/* Substitution of loops into one another. Private to sched/.
 *
 * A scope is a loop seen at an index tuple, where a predicate holds (or NULL). Translating the loop's
 * value in a scope replaces its variables; each LOAD met goes to `load`, which keeps, inlines or
 * replaces it. Results are memoised by (expression, scope). */
#ifndef TC_SCHED_INLINE_H
#define TC_SCHED_INLINE_H

#include "sched/schedule.h"

struct tc_inliner;
typedef const struct tc_expr *(*tc_inline_load)(struct tc_inliner *in, const struct tc_expr *load, const struct tc_index *at,
                                                const struct tc_expr *offset, const struct tc_expr *predicate);
struct tc_scope { int loop, index; const struct tc_expr *predicate; };
struct tc_inline_memo { const struct tc_expr *from; int scope; const struct tc_expr *to; };

struct tc_inliner {
  struct tc_loops *loops;
  tc_inline_load load;
  void *self;               /* of `load` */
  TC_VEC(struct tc_scope) scopes;
  int *scope_slots;         /* open addressing over `scopes`: position + 1 */
  size_t scope_cap;
  size_t memo_cap, memo_len;
  struct tc_inline_memo *memo;
};

/* `value` (of loop `loop`, over its variables) at tuple `at`; NULL when memory is out. */
const struct tc_expr *tc_inline(struct tc_inliner *in, const struct tc_expr *value, int loop, const struct tc_index *at,
                                const struct tc_expr *predicate);

#endif
