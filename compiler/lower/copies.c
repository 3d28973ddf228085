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

/* select(i < end of the first, first, select(i < end of the second, …)), each read under its own range:
 * operands [first, last) at positions from `i` on. */
static const struct tc_expr *cat_value(struct tc_lowering *l, const struct tc_node *node, int first, int last, tc_sym *full) {
  const int dim = (int)tc_attr_int(&node->attrs, 0);
  const tc_sym i = full[dim];
  const struct tc_expr *value = NULL;
  tc_sym end = tc_sym_const(0);
  for (int piece = first; piece < last; piece++) end = tc_sym_add(l->tab, end, node->in[piece]->meta.sizes[dim]);
  for (int piece = last - 1; piece >= first; piece--) {
    const tc_sym start = tc_sym_sub(l->tab, end, node->in[piece]->meta.sizes[dim]);
    full[dim] = tc_sym_sub(l->tab, i, start);
    const struct tc_expr *read = tc_lower_read_if(l, node->in[piece], full, index_within(l, i, start, end));
    read = tc_expr_cast(l->exprs, read, node->meta.dtype);
    const struct tc_expr *before_end = tc_expr_2(l->exprs, TC_E_LT, tc_expr_index(l->exprs, i), tc_expr_index(l->exprs, end));
    value = value ? tc_expr_3(l->exprs, TC_E_SELECT, before_end, read, value) : read;
    if (!value) return NULL;
    end = start;
  }
  full[dim] = i;
  return value;
}

enum { CAT_GROUP = 16 }; /* operands that one loop joins: a kernel's buffers are limited */

/* Part of a long cat as a loop of its own: operands [first, last). */
static struct tc_loop *cat_group(struct tc_lowering *l, const struct tc_node *node, int first, int last, tc_sym *size) {
  const int dim = (int)tc_attr_int(&node->attrs, 0);
  struct tc_node part = *node;
  *size = tc_sym_const(0);
  for (int piece = first; piece < last; piece++) *size = tc_sym_add(l->tab, *size, node->in[piece]->meta.sizes[dim]);
  part.meta.sizes[dim] = *size;
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, &part, full);
  if (!loop) return NULL;
  loop->node = node;
  loop->value = cat_value(l, node, first, last, full);
  return loop->value ? loop : NULL;
}

/* The groups, joined as cat_value joins operands. */
static const struct tc_expr *cat_groups(struct tc_lowering *l, const struct tc_node *node, const tc_sym *full) {
  const int dim = (int)tc_attr_int(&node->attrs, 0);
  const struct tc_expr *value = NULL;
  tc_sym end = node->meta.sizes[dim];
  const int n_groups = (node->n_in + CAT_GROUP - 1) / CAT_GROUP;
  for (int group = n_groups - 1; group >= 0; group--) {
    const int first = group * CAT_GROUP, last = first + CAT_GROUP < node->n_in ? first + CAT_GROUP : node->n_in;
    tc_sym size;
    const struct tc_loop *loop = cat_group(l, node, first, last, &size);
    if (!loop) return NULL;
    const tc_sym start = tc_sym_sub(l->tab, end, size);
    struct tc_index index = {0};
    for (int d = 0; d < node->meta.ndim; d++) {
      const tc_sym extent = d == dim ? size : node->meta.sizes[d];
      if (!tc_sym_is(extent, 1)) index.at[index.n++] = d == dim ? tc_sym_sub(l->tab, full[d], start) : full[d];
    }
    const struct tc_expr *read = tc_loops_load(l->loops, loop, &index, NULL, index_within(l, full[dim], start, end));
    const struct tc_expr *before_end = tc_expr_2(l->exprs, TC_E_LT, tc_expr_index(l->exprs, full[dim]), tc_expr_index(l->exprs, end));
    value = value ? tc_expr_3(l->exprs, TC_E_SELECT, before_end, read, value) : read;
    if (!value) return NULL;
    end = start;
  }
  return value;
}

tc_status lower_cat(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS];
  if (node->n_in > CAT_GROUP) { /* the groups' loops come first: a loop reads smaller ids */
    for (int d = 0; d < node->meta.ndim; d++) full[d] = tc_loops_var(l->loops, node->meta.sizes[d]);
    const struct tc_expr *value = cat_groups(l, node, full);
    tc_sym own[TC_MAX_DIMS];
    struct tc_loop *loop = value ? tc_lower_loop(l, TC_LOOP_POINTWISE, node, own) : NULL;
    if (!loop) return tc_lower_failed(l);
    for (int d = 0, at = 0; d < node->meta.ndim; d++)
      if (!tc_sym_is_const(full[d])) loop->vars[at++] = full[d];
    return tc_lower_define(l, node, loop, value);
  }
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  if (!loop) return l->status;
  return tc_lower_define(l, node, loop, cat_value(l, node, 0, node->n_in, full));
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
