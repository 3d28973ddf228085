/* matmul: a library call on views of other loops, or a sum of products. Batch dimensions broadcast. */
#include "lower/rules.h"

/* The operand's tuple of (batch…, i, j), where the product's batch is `batch`. */
static void operand_at(const struct tc_node *operand, int rank, const tc_sym *batch, tc_sym i, tc_sym j,
                       tc_sym *at) {
  const int own = operand->meta.ndim, shift = rank - own;
  for (int d = 0; d < own - 2; d++)
    at[d] = tc_sym_is(operand->meta.sizes[d], 1) ? tc_sym_const(0) : batch[d + shift];
  at[own - 2] = i;
  at[own - 1] = j;
}

/* The operand's element at (batch…, i, j). */
static bool operand_view(struct tc_lowering *l, const struct tc_node *operand, int rank, const tc_sym *batch,
                         tc_sym i, tc_sym j, struct tc_view *view) {
  tc_sym at[TC_MAX_DIMS];
  operand_at(operand, rank, batch, i, j, at);
  struct tc_index index;
  const struct tc_loop *loop = tc_lower_resolve(l, operand, at, &index);
  if (!loop) return false;
  view->loop = loop->id;
  view->index = tc_loops_index(l->loops, &index);
  return view->index >= 0;
}

/* The sum over k of A(batch…, i, k) · B(batch…, k, j), which the scheduler tiles and fuses as any other. */
static tc_status lower_sum(struct tc_lowering *l, const struct tc_node *node) {
  const int rank = node->meta.ndim;
  const struct tc_node *a = node->in[0], *b = node->in[1];
  const tc_sym sum_size = a->meta.sizes[a->meta.ndim - 1], k = tc_loops_var(l->loops, sum_size);
  const bool one = tc_sym_is(sum_size, 1);
  const tc_dtype dtype = tc_compute_dtype(node->meta.dtype);
  tc_sym full[TC_MAX_DIMS], a_at[TC_MAX_DIMS], b_at[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, one ? TC_LOOP_POINTWISE : TC_LOOP_REDUCTION, node, full);
  if (!loop || !tc_sym_valid(k)) return tc_lower_failed(l);
  operand_at(a, rank, full, full[rank - 2], k, a_at);
  operand_at(b, rank, full, k, full[rank - 1], b_at);
  loop->reduction = TC_RED_SUM;
  loop->product = one ? TC_PRODUCT_library : node->product;
  loop->n_inner = !one;
  loop->inner_sizes[0] = sum_size;
  loop->inner_vars[0] = k;
  const struct tc_expr *left = tc_expr_cast(l->exprs, tc_lower_read(l, a, a_at), dtype);
  const struct tc_expr *right = tc_expr_cast(l->exprs, tc_lower_read(l, b, b_at), dtype);
  return tc_lower_define(l, node, loop, tc_expr_2(l->exprs, TC_E_MUL, left, right));
}

tc_status lower_matmul(struct tc_lowering *l, const struct tc_node *node) {
  if (node->product) return lower_sum(l, node);
  const int rank = node->meta.ndim;
  const struct tc_node *a = node->in[0], *b = node->in[1];
  const tc_sym sum_size = a->meta.sizes[a->meta.ndim - 1], k = tc_loops_var(l->loops, sum_size);
  tc_sym full[TC_MAX_DIMS];
  for (int d = 0; d < rank; d++) full[d] = tc_loops_var(l->loops, node->meta.sizes[d]);
  struct tc_view a_view = {0}, b_view = {0};
  if (!operand_view(l, a, rank, full, full[rank - 2], k, &a_view) ||
      !operand_view(l, b, rank, full, k, full[rank - 1], &b_view))
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
