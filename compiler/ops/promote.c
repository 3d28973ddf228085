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
  if (lower == UNDEFINED || tc_dtype_category((tc_dtype)lower) <= tc_dtype_category((tc_dtype)higher))
    return higher;
  return promote(higher, lower);
}

static int scalar_dtype(const struct tc_builder *b, const struct tc_arg *scalar) {
  switch (scalar->kind) {
    case TC_ARG_BOOL: return TC_BOOL;
    case TC_ARG_INT:
    case TC_ARG_WIDE: return TC_I64;
    default: return b->default_dtype;
  }
}

void tc_promote(const struct tc_builder *b, struct tc_promotion *p, const struct tc_operand *o) {
  if (!o->value)
    p->scalars = promote(p->scalars, scalar_dtype(b, o->scalar));
  else if (o->meta.ndim)
    p->with_dims = promote(p->with_dims, (int)o->meta.dtype);
  else
    p->without_dims = promote(p->without_dims, (int)o->meta.dtype);
}

tc_dtype tc_promoted(const struct tc_promotion *p) {
  return (tc_dtype)combine(p->with_dims, combine(p->without_dims, p->scalars));
}

tc_dtype tc_result_type(const struct tc_builder *b, int count, const struct tc_operand *operands) {
  struct tc_promotion p = TC_PROMOTION;
  for (int i = 0; i < count; i++) tc_promote(b, &p, &operands[i]);
  return tc_promoted(&p);
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
    case TC_ARG_WIDE:
    case TC_ARG_NUM:
      operand->value = NULL;
      operand->scalar = given;
      return true;
    default: tc_call_bad_arg(c, arg, "a tensor or a number"); return false;
  }
}

double tc_call_real(struct tc_call *c, const struct tc_arg *arg) {
  switch (arg->kind) {
    case TC_ARG_BOOL: return arg->boolean;
    case TC_ARG_INT: return (double)tc_call_constant(c, arg->integer);
    case TC_ARG_WIDE: return (double)arg->wide;
    case TC_ARG_NUM: return arg->number;
    default: tc_call_fail(c, TC_ARG, "a number is needed"); return 0;
  }
}

/* A number (or bool) as a whole number, floats cut as a cast cuts them. */
static struct tc_arg whole_argument(struct tc_call *c, const struct tc_arg *arg) {
  switch (arg->kind) {
    case TC_ARG_INT:
    case TC_ARG_WIDE: return *arg;
    case TC_ARG_BOOL: return tc_arg_integer(arg->boolean);
    case TC_ARG_NUM:
      if (arg->number >= -0x1p63 && arg->number < 0x1p63) return tc_arg_integer((int64_t)arg->number);
      tc_call_fail(c, TC_LIMIT, "%.17g does not fit an integer of 64 bits", arg->number);
      break;
    default: tc_call_fail(c, TC_ARG, "a number is needed"); break;
  }
  return tc_arg_integer(0);
}

static struct tc_value *emit_full(struct tc_call *c, tc_dtype dtype, tc_sym whole, double number, int ndim,
                                  const tc_sym *sizes) {
  tc_sym ints[2 + TC_MAX_DIMS] = {tc_sym_const(dtype), whole};
  for (int d = 0; d < ndim; d++) ints[2 + d] = sizes[d];
  return tc_rn(&c->r, TC_OP_full, 0, NULL, &(struct tc_attrs){ints, 2 + ndim, &number, 1});
}

/* high · 2³² + low, in halves that symbols hold. */
static struct tc_value *full_wide(struct tc_call *c, int64_t value, int ndim, const tc_sym *sizes) {
  enum { HALF_BITS = 32 };
  const int64_t unit = (int64_t)1 << HALF_BITS, low = value & (unit - 1), high = (value - low) / unit;
  struct tc_value *scale = emit_full(c, TC_I64, tc_sym_const(unit), 0, 0, NULL),
                  *rest = emit_full(c, TC_I64, tc_sym_const(low), 0, 0, NULL);
  struct tc_value *scaled =
      tc_r2(&c->r, TC_OP_mul, emit_full(c, TC_I64, tc_sym_const(high), 0, ndim, sizes), scale);
  return tc_r2(&c->r, TC_OP_add, scaled, rest);
}

struct tc_value *tc_call_full(struct tc_call *c, const struct tc_arg *value, tc_dtype dtype, int ndim,
                              const tc_sym *sizes) {
  if (dtype == TC_I64) {
    const struct tc_arg whole = whole_argument(c, value);
    return whole.kind == TC_ARG_WIDE ? full_wide(c, whole.wide, ndim, sizes)
                                     : emit_full(c, dtype, whole.integer, 0, ndim, sizes);
  }
  if (tc_call_is_symbol(value))
    return tc_r_cast(&c->r, emit_full(c, TC_I64, value->integer, 0, ndim, sizes),
                     dtype); /* the value of each call */
  const double number = tc_call_real(c, value);
  if (dtype == TC_BOOL) return emit_full(c, dtype, tc_sym_const(number != 0), 0, ndim, sizes);
  return emit_full(c, dtype, tc_sym_const(0), number, ndim, sizes);
}

struct tc_value *tc_call_scalar(struct tc_call *c, const struct tc_arg *arg, tc_dtype dtype) {
  return tc_call_full(c, arg, dtype, 0, NULL);
}

struct tc_value *tc_call_as(struct tc_call *c, const struct tc_operand *operand, tc_dtype dtype) {
  if (!operand->value) return tc_call_scalar(c, operand->scalar, dtype);
  if (operand->meta.dtype == dtype) return operand->value;
  return tc_r_cast(&c->r, operand->value, dtype);
}
