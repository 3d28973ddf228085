/* The lowering rules, one for each name in ops.def's lowering column. Private to lower/.
 *
 * A rule turns one node into a loop and stores it with tc_lower_define; views have no loop. A value is
 * read with tc_lower_read at an index tuple of the operand's full rank. Failures are kept in l->status
 * and l->err; every helper passes NULL on, so a rule is written as an expression and checked once. */
#ifndef TC_LOWER_RULES_H
#define TC_LOWER_RULES_H

#include "lower/loops.h"

struct tc_lowering {
  struct tc_loops *loops;
  struct tc_symtab *tab;
  struct tc_expr_table *exprs;
  struct tc_loop **of_node;      /* by node id; NULL: a view, or a constant */
  const struct tc_expr **scalar; /* by node id: value of a `full`, which no reader loads */
  tc_status status;
  struct tc_error *err;
};

typedef tc_status (*tc_lower_rule)(struct tc_lowering *l, const struct tc_node *node);

/* clang-format off */
#define TC_LOWER_RULES(X)                                                                                    \
  X(input)                                                                                                   \
  X(full)                                                                                                    \
  X(arange) X(random) X(pointwise) X(reduce) X(matmul) X(view) X(expand) X(permute) X(slice) X(clone)        \
      X(flip) X(pad) X(cat) X(tri) X(embedding) X(gather) X(index_select)
/* clang-format on */
#define TC_DECLARE(name) tc_status lower_##name(struct tc_lowering *l, const struct tc_node *node);
TC_LOWER_RULES(TC_DECLARE)
#undef TC_DECLARE

/* A loop for the node's own shape and dtype; full[] gets one index for each dimension of the node (0 where
 * the size is 1). NULL after a failure. */
struct tc_loop *tc_lower_loop(struct tc_lowering *l, enum tc_loop_kind kind, const struct tc_node *node,
                              tc_sym full[TC_MAX_DIMS]);
/* Makes `value` (cast to the compute dtype of the loop) the loop's, and the loop the node's. */
tc_status tc_lower_define(struct tc_lowering *l, const struct tc_node *node, struct tc_loop *loop,
                          const struct tc_expr *value);

/* Value of `node` at a full-rank tuple. */
const struct tc_expr *tc_lower_read(struct tc_lowering *l, const struct tc_node *node, const tc_sym *at);
/* The same where `predicate` holds, else 0 (the tuple may then lie outside). */
const struct tc_expr *tc_lower_read_if(struct tc_lowering *l, const struct tc_node *node, const tc_sym *at,
                                       const struct tc_expr *predicate);
/* The same with the variable `free` in `at` standing for the integer expression `offset`. */
const struct tc_expr *tc_lower_read_at(struct tc_lowering *l, const struct tc_node *node, const tc_sym *at,
                                       tc_sym free, const struct tc_expr *offset);
/* Looks through views: the loop that holds `node`'s elements, and its tuple for `at`. A `full` gets its loop
 * now. */
struct tc_loop *tc_lower_resolve(struct tc_lowering *l, const struct tc_node *node, const tc_sym *at,
                                 struct tc_index *index);

/* One step through a view node: the operand's tuple for the result's tuple. */
tc_status tc_view_step(struct tc_symtab *tab, const struct tc_node *view, const tc_sym *at,
                       tc_sym *operand_at);

/* The status of something that could not be made: TC_NOMEM; where memory is not out, a symbol is INVALID:
 * TC_LIMIT. */
tc_status tc_lower_failed(struct tc_lowering *l);

#endif
