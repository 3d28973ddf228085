/* Reductions: an expression over the kept and the reduced dimensions.
 *
 * Sums and products run in the accumulation dtype, extrema in the compute dtype, any and all on BOOL.
 * A reduction over dimensions of size 1 alone is pointwise. */
#include "lower/rules.h"

static const struct {
  bool here;
  enum tc_reduction reduction;
} rows[TC_OP_COUNT] = {
    [TC_OP_sum] = {true, TC_RED_SUM},       [TC_OP_prod] = {true, TC_RED_PROD},
    [TC_OP_amax] = {true, TC_RED_MAX},      [TC_OP_amin] = {true, TC_RED_MIN},
    [TC_OP_any] = {true, TC_RED_ANY},       [TC_OP_all] = {true, TC_RED_ALL},
    [TC_OP_argmax] = {true, TC_RED_ARGMAX}, [TC_OP_argmin] = {true, TC_RED_ARGMIN},
};

static tc_dtype value_dtype(const struct tc_node *node) {
  switch (rows[node->op].reduction) {
    case TC_RED_ANY:
    case TC_RED_ALL: return TC_BOOL;
    case TC_RED_ARGMAX:
    case TC_RED_ARGMIN: return tc_compute_dtype(node->in[0]->meta.dtype);
    default: return tc_compute_dtype(node->meta.dtype);
  }
}

static bool is_reduced(const struct tc_node *node, int dim) {
  for (int i = 1; i < node->attrs.n_ints; i++)
    if (tc_attr_int(&node->attrs, i) == dim) return true;
  return false;
}

/* Adds the reduced dimensions as inner variables and fills the operand's tuple. */
static bool split_dims(struct tc_lowering *l, const struct tc_node *node, struct tc_loop *loop, tc_sym *at) {
  const struct tc_meta *in = &node->in[0]->meta;
  for (int d = 0, kept = 0; d < in->ndim; d++) {
    at[d] = tc_sym_const(0);
    if (tc_sym_is(in->sizes[d], 1)) continue;
    if (!is_reduced(node, d)) {
      at[d] = loop->vars[kept++];
      continue;
    }
    at[d] = loop->inner_vars[loop->n_inner] = tc_sym_index(l->tab, in->sizes[d]);
    loop->inner_sizes[loop->n_inner++] = in->sizes[d];
    if (!tc_sym_valid(at[d])) return false;
  }
  return true;
}

tc_status lower_reduce(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS], at[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_REDUCTION, node, full);
  if (!loop || !split_dims(l, node, loop, at)) return tc_lower_failed(l);
  loop->reduction = rows[node->op].reduction;
  const struct tc_expr *value = tc_expr_cast(l->exprs, tc_lower_read(l, node->in[0], at), value_dtype(node));
  if (!loop->n_inner) {
    loop->kind = TC_LOOP_POINTWISE;
    const bool position = loop->reduction == TC_RED_ARGMAX || loop->reduction == TC_RED_ARGMIN;
    if (position) value = tc_expr_int(l->exprs, TC_I64, 0);
  }
  return tc_lower_define(l, node, loop, value);
}
