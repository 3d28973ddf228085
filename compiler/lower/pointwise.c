/* Pointwise operations: one expression over the operands at the (broadcast) index.
 *
 * Operands are cast to the compute dtype of the result, comparisons excepted; logic works on BOOL. */
#include <math.h>

#include "lower/rules.h"

enum operand_class { OPERANDS_RESULT, OPERANDS_SHARED, OPERANDS_BOOL };
struct pointwise_row {
  uint8_t expr, operands;
};

static const struct pointwise_row rows[TC_OP_COUNT] = {
    [TC_OP_cast] = {TC_E_CAST, OPERANDS_RESULT},
    [TC_OP_neg] = {TC_E_NEG, OPERANDS_RESULT},
    [TC_OP_abs] = {TC_E_ABS, OPERANDS_RESULT},
    [TC_OP_sign] = {TC_E_SIGN, OPERANDS_RESULT},
    [TC_OP_floor] = {TC_E_FLOOR, OPERANDS_RESULT},
    [TC_OP_ceil] = {TC_E_CEIL, OPERANDS_RESULT},
    [TC_OP_reciprocal] = {TC_E_RECIPROCAL, OPERANDS_RESULT},
    [TC_OP_sqrt] = {TC_E_SQRT, OPERANDS_RESULT},
    [TC_OP_rsqrt] = {TC_E_RSQRT, OPERANDS_RESULT},
    [TC_OP_exp] = {TC_E_EXP, OPERANDS_RESULT},
    [TC_OP_log] = {TC_E_LOG, OPERANDS_RESULT},
    [TC_OP_log1p] = {TC_E_LOG1P, OPERANDS_RESULT},
    [TC_OP_sin] = {TC_E_SIN, OPERANDS_RESULT},
    [TC_OP_cos] = {TC_E_COS, OPERANDS_RESULT},
    [TC_OP_tan] = {TC_E_TAN, OPERANDS_RESULT},
    [TC_OP_tanh] = {TC_E_TANH, OPERANDS_RESULT},
    [TC_OP_sigmoid] = {TC_E_SIGMOID, OPERANDS_RESULT},
    [TC_OP_erf] = {TC_E_ERF, OPERANDS_RESULT},
    [TC_OP_relu] = {TC_E_RELU, OPERANDS_RESULT},
    [TC_OP_isnan] = {TC_E_ISNAN, OPERANDS_SHARED},
    [TC_OP_isinf] = {TC_E_ISINF, OPERANDS_SHARED},
    [TC_OP_logical_not] = {TC_E_NOT, OPERANDS_BOOL},
    [TC_OP_add] = {TC_E_ADD, OPERANDS_RESULT},
    [TC_OP_sub] = {TC_E_SUB, OPERANDS_RESULT},
    [TC_OP_mul] = {TC_E_MUL, OPERANDS_RESULT},
    [TC_OP_div] = {TC_E_DIV, OPERANDS_RESULT},
    [TC_OP_floor_divide] = {TC_E_FLOORDIV, OPERANDS_RESULT},
    [TC_OP_remainder] = {TC_E_REMAINDER, OPERANDS_RESULT},
    [TC_OP_pow] = {TC_E_POW, OPERANDS_RESULT},
    [TC_OP_maximum] = {TC_E_MAX, OPERANDS_RESULT},
    [TC_OP_minimum] = {TC_E_MIN, OPERANDS_RESULT},
    [TC_OP_eq] = {TC_E_EQ, OPERANDS_SHARED},
    [TC_OP_ne] = {TC_E_NE, OPERANDS_SHARED},
    [TC_OP_lt] = {TC_E_LT, OPERANDS_SHARED},
    [TC_OP_le] = {TC_E_LE, OPERANDS_SHARED},
    [TC_OP_gt] = {TC_E_GT, OPERANDS_SHARED},
    [TC_OP_ge] = {TC_E_GE, OPERANDS_SHARED},
    [TC_OP_logical_and] = {TC_E_AND, OPERANDS_BOOL},
    [TC_OP_logical_or] = {TC_E_OR, OPERANDS_BOOL},
    [TC_OP_logical_xor] = {TC_E_XOR, OPERANDS_BOOL},
    [TC_OP_where] = {TC_E_SELECT, OPERANDS_RESULT},
};

/* Arithmetic of booleans is logic. */
static enum tc_expr_op boolean_op(enum tc_expr_op op) {
  switch (op) {
    case TC_E_ADD:
    case TC_E_MAX: return TC_E_OR;
    case TC_E_MUL:
    case TC_E_MIN: return TC_E_AND;
    default: return op;
  }
}

/* Powers with a constant exponent that is cheaper as arithmetic; NULL for the others. */
static const struct tc_expr *power(struct tc_lowering *l, const struct tc_expr *x,
                                   const struct tc_expr *exponent) {
  if (!x || !exponent || exponent->op != TC_E_CONST || !tc_dtype_is_float(x->dtype)) return NULL;
  struct tc_expr_table *t = l->exprs;
  if (exponent->number == 0.5) return tc_expr_1(t, TC_E_SQRT, x);
  if (exponent->number == -0.5) return tc_expr_1(t, TC_E_RSQRT, x);
  if (exponent->number == 1) return x;
  if (exponent->number == -1) return tc_expr_1(t, TC_E_RECIPROCAL, x);
  const struct tc_expr *square = tc_expr_2(t, TC_E_MUL, x, x);
  if (exponent->number == 2) return square;
  if (exponent->number == 3) return tc_expr_2(t, TC_E_MUL, square, x);
  return NULL;
}

static tc_dtype operand_dtype(const struct tc_node *node, int i) {
  switch ((enum operand_class)rows[node->op].operands) {
    case OPERANDS_BOOL: return TC_BOOL;
    case OPERANDS_RESULT: return node->op == TC_OP_where && i == 0 ? TC_BOOL : node->meta.dtype;
    case OPERANDS_SHARED: break;
  }
  const tc_dtype first = node->in[0]->meta.dtype;
  return tc_compute_dtype(node->n_in > 1 ? tc_dtype_promote(first, node->in[1]->meta.dtype) : first);
}

static const struct tc_expr *apply(struct tc_lowering *l, const struct tc_node *node,
                                   const struct tc_expr *const *in) {
  enum tc_expr_op op = (enum tc_expr_op)rows[node->op].expr;
  const bool rounds = op == TC_E_CAST && node->meta.dtype == TC_BF16 && node->in[0]->meta.dtype != TC_BF16;
  if (op == TC_E_CAST) return rounds ? tc_expr_1(l->exprs, TC_E_ROUND, in[0]) : in[0];
  if ((op == TC_E_ISNAN || op == TC_E_ISINF) && in[0] && !tc_dtype_is_float(in[0]->dtype))
    return tc_expr_int(l->exprs, TC_BOOL, 0);
  if (op == TC_E_POW) {
    const struct tc_expr *simple = power(l, in[0], in[1]);
    if (simple) return simple;
  }
  if (node->meta.dtype == TC_BOOL) op = boolean_op(op);
  if (op == TC_E_FLOORDIV || op == TC_E_REMAINDER) {
    /* By an integer of 0 no number is right: the kernel says so. */
    struct tc_expr divisor = {.op = TC_E_DIVISOR, .dtype = TC_I64, .args = {in[1]}};
    divisor.acc = op == TC_E_FLOORDIV ? TC_FLAG_FLOOR_DIVIDE : TC_FLAG_REMAINDER;
    return tc_expr_2(l->exprs, op, in[0],
                     in[1] && in[1]->dtype == TC_I64 ? tc_expr_make(l->exprs, &divisor) : in[1]);
  }
  switch (node->n_in) {
    case 1: return tc_expr_1(l->exprs, op, in[0]);
    case 2: return tc_expr_2(l->exprs, op, in[0], in[1]);
    default: return tc_expr_3(l->exprs, op, in[0], in[1], in[2]);
  }
}

tc_status lower_pointwise(struct tc_lowering *l, const struct tc_node *node) {
  if (rows[node->op].expr == TC_E_CONST) /* zero: no row */
    return l->status = tc_fail(l->err, TC_UNSUPPORTED, "lower", "%s has no row in lower/pointwise.c",
                               tc_op_row(node->op)->name);
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  if (!loop) return l->status;
  const struct tc_expr *in[TC_EXPR_ARGS] = {0};
  for (int i = 0; i < node->n_in; i++) {
    const struct tc_node *operand = node->in[i];
    const int shift = node->meta.ndim - operand->meta.ndim;
    tc_sym at[TC_MAX_DIMS];
    for (int d = 0; d < operand->meta.ndim; d++)
      at[d] = tc_sym_is(operand->meta.sizes[d], 1) ? tc_sym_const(0) : full[d + shift];
    in[i] = tc_expr_cast(l->exprs, tc_lower_read(l, operand, at), operand_dtype(node, i));
  }
  return tc_lower_define(l, node, loop, apply(l, node, in));
}
