/* Operations that move elements: clone, flip, pad, cat, tril and triu. Each is pointwise in its result:
 * an index map, and a predicate where an element may lie outside of its operand. */
#include "lower/rules.h"

tc_status lower_clone(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  return loop ? tc_lower_define(l, node, loop, tc_lower_read(l, node->in[0], full)) : l->status;
}

tc_status lower_flip(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  if (!loop) return l->status;
  for (int i = 0; i < node->attrs.n_ints; i++) {
    const int dim = (int)tc_attr_int(&node->attrs, i);
    full[dim] = tc_sym_sub(l->tab, tc_sym_sub(l->tab, node->meta.sizes[dim], tc_sym_const(1)), full[dim]);
  }
  return tc_lower_define(l, node, loop, tc_lower_read(l, node->in[0], full));
}

/* low ≤ index < high as an expression; a bound that always holds folds away. */
static const struct tc_expr *index_within(struct tc_lowering *l, tc_sym index, tc_sym low, tc_sym high) {
  const struct tc_expr *i = tc_expr_index(l->exprs, index);
  return tc_expr_2(l->exprs, TC_E_AND, tc_expr_2(l->exprs, TC_E_GE, i, tc_expr_index(l->exprs, low)),
                   tc_expr_2(l->exprs, TC_E_LT, i, tc_expr_index(l->exprs, high)));
}

tc_status lower_pad(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS], at[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  if (!loop) return l->status;
  const struct tc_expr *inside = tc_expr_int(l->exprs, TC_BOOL, 1);
  for (int d = 0; d < node->meta.ndim; d++) {
    const tc_sym before = node->attrs.ints[2 * d];
    at[d] = tc_sym_sub(l->tab, full[d], before);
    if (tc_sym_same(node->meta.sizes[d], node->in[0]->meta.sizes[d])) continue;
    const tc_sym end = tc_sym_add(l->tab, before, node->in[0]->meta.sizes[d]);
    inside = tc_expr_2(l->exprs, TC_E_AND, inside, index_within(l, full[d], before, end));
  }
  const struct tc_expr *value = tc_lower_read_if(l, node->in[0], at, inside);
  if (value && node->attrs.nums[0] != 0)
    value = tc_expr_3(l->exprs, TC_E_SELECT, inside, value, tc_expr_num(l->exprs, value->dtype, node->attrs.nums[0]));
  return tc_lower_define(l, node, loop, value);
}

/* select(i < end of the first, first, select(i < end of the second, …)), each read under its own range. */
tc_status lower_cat(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  if (!loop) return l->status;
  const int dim = (int)tc_attr_int(&node->attrs, 0);
  const tc_sym i = full[dim];
  tc_sym end = node->meta.sizes[dim];
  const struct tc_expr *value = NULL;
  for (int piece = node->n_in - 1; piece >= 0; piece--) {
    const tc_sym start = tc_sym_sub(l->tab, end, node->in[piece]->meta.sizes[dim]);
    full[dim] = tc_sym_sub(l->tab, i, start);
    const struct tc_expr *read = tc_lower_read_if(l, node->in[piece], full, index_within(l, i, start, end));
    read = tc_expr_cast(l->exprs, read, node->meta.dtype);
    const struct tc_expr *before_end = tc_expr_2(l->exprs, TC_E_LT, tc_expr_index(l->exprs, i), tc_expr_index(l->exprs, end));
    value = value ? tc_expr_3(l->exprs, TC_E_SELECT, before_end, read, value) : read;
    if (!value) return tc_lower_nomem(l);
    end = start;
  }
  return tc_lower_define(l, node, loop, value);
}

/* tril keeps column − row ≤ diagonal, triu column − row ≥ diagonal; 0 elsewhere. */
tc_status lower_tri(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  if (!loop) return l->status;
  const int rank = node->meta.ndim;
  const struct tc_expr *distance = tc_expr_index(l->exprs, tc_sym_sub(l->tab, full[rank - 1], full[rank - 2]));
  const struct tc_expr *kept = tc_expr_2(l->exprs, node->op == TC_OP_tril ? TC_E_LE : TC_E_GE, distance,
                                         tc_expr_index(l->exprs, node->attrs.ints[0]));
  const struct tc_expr *value = tc_lower_read(l, node->in[0], full);
  if (!value) return l->status;
  return tc_lower_define(l, node, loop, tc_expr_3(l->exprs, TC_E_SELECT, kept, value, tc_expr_num(l->exprs, value->dtype, 0)));
}
