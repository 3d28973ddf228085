/* Reading by data: embedding, gather, index_select. The index value is checked against the dimension
 * (CHECK) and stands for a free variable of the source's tuple. */
#include "lower/rules.h"

/* source at `at`, where dimension `dim` is given by the index expression. */
static const struct tc_expr *read_indexed(struct tc_lowering *l, const struct tc_node *source, int dim,
                                          tc_sym *at, const struct tc_expr *index) {
  if (!index) return NULL;
  const tc_sym size = source->meta.sizes[dim];
  const struct tc_expr check = {
      .op = TC_E_CHECK, .dtype = TC_I64, .args = {tc_expr_cast(l->exprs, index, TC_I64)}, .address = size};
  /* A dimension of size 1 keeps a free variable too, so that its index is checked. */
  at[dim] = tc_sym_index(l->tab, size);
  return tc_lower_read_at(l, source, at, at[dim], tc_expr_make(l->exprs, &check));
}

tc_status lower_gather(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  if (!loop) return l->status;
  const struct tc_expr *index = tc_lower_read(l, node->in[1], full);
  const struct tc_expr *value = read_indexed(l, node->in[0], (int)tc_attr_int(&node->attrs, 0), full, index);
  return tc_lower_define(l, node, loop, value);
}

tc_status lower_index_select(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  if (!loop) return l->status;
  const int dim = (int)tc_attr_int(&node->attrs, 0);
  const struct tc_expr *index = tc_lower_read(l, node->in[1], &full[dim]);
  return tc_lower_define(l, node, loop, read_indexed(l, node->in[0], dim, full, index));
}

/* weight[N, D] by index […]: the last dimension of the result is D. */
tc_status lower_embedding(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  if (!loop) return l->status;
  const struct tc_expr *index = tc_lower_read(l, node->in[1], full);
  tc_sym at[TC_MAX_DIMS] = {tc_sym_const(0), full[node->meta.ndim - 1]};
  return tc_lower_define(l, node, loop, read_indexed(l, node->in[0], 0, at, index));
}
