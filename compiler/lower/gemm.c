/* matmul: a library call on views of other loops. Batch dimensions broadcast. */
#include "lower/rules.h"

/* The operand's element at (batch…, i, j). */
static bool operand_view(struct tc_lowering *l, const struct tc_node *operand, int rank, const tc_sym *batch, tc_sym i, tc_sym j,
                         struct tc_view *view) {
  const int own = operand->meta.ndim, shift = rank - own;
  tc_sym at[TC_MAX_DIMS];
  for (int d = 0; d < own - 2; d++) at[d] = tc_sym_is(operand->meta.sizes[d], 1) ? tc_sym_const(0) : batch[d + shift];
  at[own - 2] = i;
  at[own - 1] = j;
  struct tc_index index;
  const struct tc_loop *loop = tc_lower_resolve(l, operand, at, &index);
  if (!loop) return false;
  view->loop = loop->id;
  view->index = tc_loops_index(l->loops, &index);
  return view->index >= 0;
}

tc_status lower_matmul(struct tc_lowering *l, const struct tc_node *node) {
  const int rank = node->meta.ndim;
  const struct tc_node *a = node->in[0], *b = node->in[1];
  const tc_sym sum_size = a->meta.sizes[a->meta.ndim - 1], k = tc_loops_var(l->loops, sum_size);
  tc_sym full[TC_MAX_DIMS];
  for (int d = 0; d < rank; d++) full[d] = tc_loops_var(l->loops, node->meta.sizes[d]);
  struct tc_view a_view = {0}, b_view = {0};
  if (!operand_view(l, a, rank, full, full[rank - 2], k, &a_view) || !operand_view(l, b, rank, full, k, full[rank - 1], &b_view))
    return tc_lower_failed(l);
  /* Made after its operands, so that it reads smaller ids; its variables are those of the views. */
  tc_sym own[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_GEMM, node, own);
  if (!loop) return l->status;
  for (int d = 0, at = 0; d < rank; d++) {
    if (tc_sym_is(node->meta.sizes[d], 1)) continue;
    if (d == rank - 2) loop->row_dim = at;
    if (d == rank - 1) loop->col_dim = at;
    loop->vars[at++] = full[d];
  }
  loop->n_inner = 1;
  loop->inner_sizes[0] = sum_size;
  loop->inner_vars[0] = k;
  loop->a = a_view;
  loop->b = b_view;
  l->of_node[node->id] = loop;
  return TC_OK;
}
