/* Type promotion of tensor functions, as PyTorch does it.
 *
 * Three classes of operands, strongest first: tensors with dimensions, 0-dimensional tensors,
 * numbers. A weaker class changes the result only by its category (bool < integer < float). A number's
 * dtype is i64, the default dtype (a Lua float), or bool. */
#include "ops/call.h"

enum { UNDEFINED = TC_DTYPE_COUNT };

static int promote(int a, int b) {
  if (a == UNDEFINED) return b;
  if (b == UNDEFINED) return a;
  return (int)tc_dtype_promote((tc_dtype)a, (tc_dtype)b);
}

/* The result of a stronger and a weaker class. */
static int combine(int higher, int lower) {
  if (higher == UNDEFINED) return lower;
  if (lower == UNDEFINED || tc_dtype_category((tc_dtype)lower) <= tc_dtype_category((tc_dtype)higher)) return higher;
  return promote(higher, lower);
}

static int scalar_dtype(const struct tc_builder *b, const struct tc_arg *scalar) {
  switch (scalar->kind) {
    case TC_ARG_BOOL: return TC_BOOL;
    case TC_ARG_INT: return TC_I64;
    default: return b->default_dtype;
  }
}

tc_dtype tc_result_type(const struct tc_builder *b, int count, const struct tc_operand *operands) {
  int with_dims = UNDEFINED, without_dims = UNDEFINED, scalars = UNDEFINED;
  for (int i = 0; i < count; i++) {
    const struct tc_operand *o = &operands[i];
    if (!o->value) scalars = promote(scalars, scalar_dtype(b, o->scalar));
    else if (o->meta.ndim) with_dims = promote(with_dims, (int)o->meta.dtype);
    else without_dims = promote(without_dims, (int)o->meta.dtype);
  }
  return (tc_dtype)combine(with_dims, combine(without_dims, scalars));
}

bool tc_call_operand(struct tc_call *c, int arg, struct tc_operand *operand) {
  const struct tc_arg *given = &c->args[arg];
  switch (given->kind) {
    case TC_ARG_VALUE:
      operand->value = given->value;
      operand->scalar = NULL;
      tc_value_meta(c->r.b, given->value, &operand->meta);
      return true;
    case TC_ARG_BOOL:
    case TC_ARG_INT:
    case TC_ARG_NUM:
      operand->value = NULL;
      operand->scalar = given;
      return true;
    default: tc_call_bad_arg(c, arg, "a tensor or a number"); return false;
  }
}

tc_sym tc_call_whole(struct tc_call *c, const struct tc_arg *arg) {
  if (arg->kind == TC_ARG_INT && tc_sym_valid(arg->integer)) return arg->integer;
  if (arg->kind == TC_ARG_BOOL) return tc_sym_const(arg->boolean);
  if (arg->kind == TC_ARG_NUM && arg->number > -0x1p61 && arg->number < 0x1p61) return tc_sym_const((int64_t)arg->number);
  if (arg->kind == TC_ARG_NUM || arg->kind == TC_ARG_INT) tc_call_fail(c, TC_LIMIT, "a number does not fit an integer of 62 bits");
  else tc_call_fail(c, TC_ARG, "a number is needed");
  return tc_sym_const(0);
}

double tc_call_real(struct tc_call *c, const struct tc_arg *arg) {
  switch (arg->kind) {
    case TC_ARG_BOOL: return arg->boolean;
    case TC_ARG_INT: return (double)tc_call_constant(c, arg->integer);
    case TC_ARG_NUM: return arg->number;
    default: tc_call_fail(c, TC_ARG, "a number is needed"); return 0;
  }
}

struct tc_value *tc_call_full(struct tc_call *c, const struct tc_arg *value, tc_dtype dtype, int ndim, const tc_sym *sizes) {
  tc_sym ints[2 + TC_MAX_DIMS] = {tc_sym_const(dtype), tc_sym_const(0)};
  double nums[] = {0};
  if (dtype == TC_I64) ints[1] = tc_call_whole(c, value);
  else if (dtype == TC_BOOL) ints[1] = tc_sym_const(tc_call_real(c, value) != 0);
  else nums[0] = tc_call_real(c, value);
  for (int d = 0; d < ndim; d++) ints[2 + d] = sizes[d];
  return tc_rn(&c->r, TC_OP_full, 0, NULL, &(struct tc_attrs){ints, 2 + ndim, nums, 1});
}

struct tc_value *tc_call_scalar(struct tc_call *c, const struct tc_arg *arg, tc_dtype dtype) { return tc_call_full(c, arg, dtype, 0, NULL); }

struct tc_value *tc_call_as(struct tc_call *c, const struct tc_operand *operand, tc_dtype dtype) {
  if (!operand->value) return tc_call_scalar(c, operand->scalar, dtype);
  if (operand->meta.dtype == dtype) return operand->value;
  return tc_r_cast(&c->r, operand->value, dtype);
}
