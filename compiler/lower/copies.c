/* Operations that move elements: clone, flip, pad, cat, tril and triu. Each is pointwise in its result:
 * an index map, and a predicate where an element may lie outside of its operand. */
#include "lower/rules.h"

#include "lower/walk.h"

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
    value = tc_expr_3(l->exprs, TC_E_SELECT, inside, value,
                      tc_expr_num(l->exprs, value->dtype, node->attrs.nums[0]));
  return tc_lower_define(l, node, loop, value);
}

/* What a cat's loop joins, along `dim`: operands from `first` on, or (with groups) loops that join some
 * operands each. Unit u lies from starts[u] to starts[u + 1]. */
struct cat {
  const struct tc_node *node;
  int dim, n, first;
  tc_sym starts[TC_MAX_INPUTS + 1];
  struct tc_loop *groups[TC_MAX_INPUTS];
};

/* Unit `u` at positions `full`, where it has them. */
static const struct tc_expr *cat_unit(struct tc_lowering *l, const struct cat *cat, int u,
                                      const tc_sym *full) {
  const tc_sym start = cat->starts[u];
  const struct tc_expr *inside = index_within(l, full[cat->dim], start, cat->starts[u + 1]);
  const struct tc_loop *group = cat->groups[u];
  tc_sym at[TC_MAX_DIMS];
  for (int d = 0; d < cat->node->meta.ndim; d++)
    at[d] = d == cat->dim ? tc_sym_sub(l->tab, full[d], start) : full[d];
  if (!group)
    return tc_expr_cast(l->exprs, tc_lower_read_if(l, cat->node->in[cat->first + u], at, inside),
                        cat->node->meta.dtype);
  struct tc_index index = {0};
  const tc_sym size = tc_sym_sub(l->tab, cat->starts[u + 1], start);
  for (int d = 0; d < cat->node->meta.ndim; d++)
    if (!tc_sym_is(d == cat->dim ? size : cat->node->meta.sizes[d], 1)) index.at[index.n++] = at[d];
  return inside ? tc_loops_load(l->loops, group, &index, NULL, inside) : NULL;
}

/* Units first … last - 1, chosen by halving: select(i < start of the second half, first half, second
 * half). */
static const struct tc_expr *cat_units(struct tc_lowering *l, const struct cat *cat, int first, int last,
                                       const tc_sym *full) {
  if (last - first == 1) return cat_unit(l, cat, first, full);
  const int middle = first + (last - first) / 2;
  const struct tc_expr *low = cat_units(l, cat, first, middle, full),
                       *high = cat_units(l, cat, middle, last, full);
  if (!low || !high) return NULL;
  const struct tc_expr *is_low = tc_expr_2(l->exprs, TC_E_LT, tc_expr_index(l->exprs, full[cat->dim]),
                                           tc_expr_index(l->exprs, cat->starts[middle]));
  return is_low ? tc_expr_3(l->exprs, TC_E_SELECT, is_low, low, high) : NULL;
}

enum {
  CAT_GROUP = 32
}; /* operands that one loop joins, or loads that they make of it together: a kernel's are limited */

/* Operands [first, first + n), where the first one begins at 0. */
static struct cat cat_of(struct tc_lowering *l, const struct tc_node *node, int first, int n) {
  struct cat cat = {.node = node, .dim = (int)tc_attr_int(&node->attrs, 0), .n = n, .first = first};
  cat.starts[0] = tc_sym_const(0);
  for (int u = 0; u < n; u++)
    cat.starts[u + 1] = tc_sym_add(l->tab, cat.starts[u], node->in[first + u]->meta.sizes[cat.dim]);
  return cat;
}

/* Part of a long cat as a loop of its own. */
static struct tc_loop *cat_group(struct tc_lowering *l, const struct cat *cat) {
  struct tc_node part = *cat->node;
  part.meta.sizes[cat->dim] = cat->starts[cat->n];
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, &part, full);
  if (!loop) return NULL;
  loop->node = cat->node;
  loop->value = cat_units(l, cat, 0, cat->n, full);
  return loop->value ? loop : NULL;
}

/* Loads of the operand, which may be computed where it is joined. */
static int loads_of(const struct tc_lowering *l, struct tc_walk *walk, const struct tc_node *node) {
  while (tc_op_row(node->op)->kind == TC_KIND_VIEW) node = node->in[0];
  const struct tc_loop *loop = l->of_node[node->id];
  if (!loop || loop->kind != TC_LOOP_POINTWISE) return 1;
  int loads = 0;
  if (!tc_walk_begin(walk, TC_WALK_PRE, tc_expr_count(l->exprs)) || !tc_walk_from(walk, loop->value))
    return 1;
  for (const struct tc_expr *e; (e = tc_walk_next(walk));) loads += e->op == TC_E_LOAD;
  return loads < 1 ? 1 : loads;
}

/* How many operands from `first` on one loop joins. */
static int group_at(const struct tc_lowering *l, struct tc_walk *walk, const struct tc_node *node,
                    int first) {
  int n = 1;
  for (int loads = loads_of(l, walk, node->in[first]); first + n < node->n_in; n++)
    if ((loads += loads_of(l, walk, node->in[first + n])) > CAT_GROUP) break;
  return n;
}

/* The groups' loops come first: a loop reads smaller ids. */
static bool make_groups(struct tc_lowering *l, const struct tc_node *node, struct tc_walk *walk,
                        struct cat *cat) {
  for (int first = 0, n; first < node->n_in; first += n, cat->n++) {
    n = group_at(l, walk, node, first);
    const struct cat group = cat_of(l, node, first, n);
    cat->starts[cat->n + 1] = tc_sym_add(l->tab, cat->starts[cat->n], group.starts[group.n]);
    if (!(cat->groups[cat->n] = cat_group(l, &group))) return false;
  }
  return true;
}

tc_status lower_cat(struct tc_lowering *l, const struct tc_node *node) {
  struct tc_walk walk = {.alloc = tc_arena_alloc(l->loops->arena)};
  const bool grouped = node->n_in > CAT_GROUP / 2 && group_at(l, &walk, node, 0) < node->n_in;
  struct cat cat = cat_of(l, node, 0, grouped ? 0 : node->n_in);
  if (grouped && !make_groups(l, node, &walk, &cat)) return tc_lower_failed(l);
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  return loop ? tc_lower_define(l, node, loop, cat_units(l, &cat, 0, cat.n, full)) : l->status;
}

/* tril keeps column − row ≤ diagonal, triu column − row ≥ diagonal; 0 elsewhere. */
tc_status lower_tri(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  if (!loop) return l->status;
  const int rank = node->meta.ndim;
  const struct tc_expr *distance =
      tc_expr_index(l->exprs, tc_sym_sub(l->tab, full[rank - 1], full[rank - 2]));
  const struct tc_expr *kept = tc_expr_2(l->exprs, node->op == TC_OP_tril ? TC_E_LE : TC_E_GE, distance,
                                         tc_expr_index(l->exprs, node->attrs.ints[0]));
  const struct tc_expr *value = tc_lower_read(l, node->in[0], full);
  if (!value) return l->status;
  return tc_lower_define(
      l, node, loop, tc_expr_3(l->exprs, TC_E_SELECT, kept, value, tc_expr_num(l->exprs, value->dtype, 0)));
}
