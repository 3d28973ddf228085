/* Inputs and values made from nothing: full, arange, rand, randn. */
#include "lower/rules.h"

tc_status lower_input(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_INPUT, node, full);
  if (!loop) return l->status;
  loop->input = (int)tc_attr_int(&node->attrs, 0);
  for (int i = 0, at = 0; i < node->meta.ndim; i++)
    if (!tc_sym_is(node->meta.sizes[i], 1)) loop->strides[at++] = node->strides[i];
  l->of_node[node->id] = loop;
  return TC_OK;
}

enum { FULL_DTYPE, FULL_INTEGER };

/* A constant of its readers: no loop unless its memory is asked for. */
tc_status lower_full(struct tc_lowering *l, const struct tc_node *node) {
  const tc_dtype dtype = node->meta.dtype;
  const struct tc_expr *value =
      tc_dtype_is_float(dtype) ? tc_expr_num(l->exprs, dtype, node->attrs.nums[0])
      : tc_sym_is_const(node->attrs.ints[FULL_INTEGER])
          ? tc_expr_int(l->exprs, dtype, tc_attr_int(&node->attrs, FULL_INTEGER))
          : tc_expr_cast(l->exprs, tc_expr_index(l->exprs, node->attrs.ints[FULL_INTEGER]), dtype);
  if (value && dtype == TC_BF16)
    value = tc_expr_num(l->exprs, TC_F32, (double)tc_bf16_to_f32(tc_f32_to_bf16((float)value->number)));
  l->scalar[node->id] = value;
  return value ? TC_OK : tc_lower_failed(l);
}

/* start + i·step: integers exactly, floats in F64 with one rounding at the end. */
tc_status lower_arange(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  if (!loop) return l->status;
  const tc_dtype dtype = tc_dtype_is_float(node->meta.dtype) ? TC_F64 : TC_I64;
  const struct tc_expr *i = tc_expr_cast(l->exprs, tc_expr_index(l->exprs, full[0]), dtype);
  const struct tc_expr *scaled =
      tc_expr_2(l->exprs, TC_E_MUL, i, tc_expr_num(l->exprs, dtype, node->attrs.nums[1]));
  return tc_lower_define(
      l, node, loop,
      tc_expr_2(l->exprs, TC_E_ADD, scaled, tc_expr_num(l->exprs, dtype, node->attrs.nums[0])));
}

tc_status lower_random(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  if (!loop) return l->status;
  tc_sym element = tc_sym_const(0);
  for (int i = 0; i < loop->ndim; i++)
    element = tc_sym_add(l->tab, tc_sym_mul(l->tab, element, loop->sizes[i]), loop->vars[i]);
  const struct tc_expr draw = {.op = node->op == TC_OP_rand ? TC_E_UNIFORM : TC_E_NORMAL,
                               .dtype = tc_compute_dtype(node->meta.dtype),
                               .acc = node->draw,
                               .address = element};
  return tc_lower_define(l, node, loop, tc_expr_make(l->exprs, &draw));
}
