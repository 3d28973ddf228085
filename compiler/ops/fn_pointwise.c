/* Pointwise tensor functions. Each brings its operands to one dtype (promote.c) and emits.
 *
 * Bools have no arithmetic in the operations: what PyTorch defines for them becomes a logical
 * operation here, the rest is an error. */
#include <string.h>

#include "ops/call.h"

static void *fail_dtype(struct tc_call *c, tc_dtype dtype, const char *why) {
  return tc_call_fail(c, TC_DTYPE, "%s: %s", tc_dtype_name(dtype), why);
}

/* ---- one operand ---- */

struct tc_value *tc_fn_unary_number(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  if (tc_r_meta(&c->r, x).dtype == TC_BOOL && x)
    return fail_dtype(c, TC_BOOL, "takes numbers; for a mask use logical_not, or cast");
  return tc_r1(&c->r, c->op, x);
}

/* Integers and bools are whole already. */
struct tc_value *tc_fn_unary_whole(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const tc_dtype dtype = tc_r_meta(&c->r, x).dtype;
  const bool changes = tc_dtype_is_float(dtype) || (c->op == TC_OP_sign && dtype != TC_BOOL);
  return tc_r1(&c->r, changes ? c->op : TC_OP_clone, x);
}

static struct tc_value *as_real(struct tc_call *c, struct tc_value *x) {
  return x ? tc_r_cast(&c->r, x, tc_float_dtype(c->r.b, tc_r_meta(&c->r, x).dtype)) : NULL;
}

struct tc_value *tc_fn_unary_real(struct tc_call *c) {
  return tc_r1(&c->r, c->op, as_real(c, tc_call_tensor(c, 0)));
}

/* A floating-point operand, which PyTorch does not promote to here. */
static struct tc_value *float_tensor(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const tc_dtype dtype = tc_r_meta(&c->r, x).dtype;
  return x && !tc_dtype_is_float(dtype)
             ? fail_dtype(c, dtype, "takes a floating-point dtype; cast to f32, f64 or bf16")
             : x;
}

struct tc_value *tc_fn_unary_float(struct tc_call *c) { return tc_r1(&c->r, c->op, float_tensor(c)); }

struct tc_value *tc_fn_gelu(struct tc_call *c) {
  struct tc_value *x = float_tensor(c);
  const char *approximate = tc_call_text(c, 1, "none");
  if (!strcmp(approximate, "none")) return tc_r1(&c->r, TC_OP_gelu, x);
  if (!strcmp(approximate, "tanh")) return tc_r1(&c->r, TC_OP_gelu_tanh, x);
  return tc_call_fail(c, TC_ARG, "approximate is 'none' or 'tanh', not '%s'", approximate);
}

/* The operation has beta 1 and threshold 20; other values are composed. */
struct tc_value *tc_fn_softplus(struct tc_call *c) {
  enum { BETA = 1, THRESHOLD = 20 };
  struct tc_value *x = float_tensor(c);
  const double beta = tc_call_number(c, 1, BETA), threshold = tc_call_number(c, 2, THRESHOLD);
  if (beta == BETA && threshold == THRESHOLD) return tc_r1(&c->r, TC_OP_softplus, x);
  struct tc_rule *r = &c->r;
  const tc_dtype dtype = tc_r_meta(r, x).dtype;
  struct tc_value *scale = tc_r_scalar(r, dtype, beta), *scaled = tc_r2(r, TC_OP_mul, x, scale);
  struct tc_value *soft = tc_r2(r, TC_OP_div, tc_r1(r, TC_OP_log1p, tc_r1(r, TC_OP_exp, scaled)), scale);
  struct tc_value *above = tc_r2(r, TC_OP_gt, scaled, tc_r_scalar(r, dtype, threshold));
  return tc_r3(r, TC_OP_where, above, x, soft);
}

/* Of integers nothing is NaN or infinite: x ≠ x. */
struct tc_value *tc_fn_unary_test(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  return tc_dtype_is_float(tc_r_meta(&c->r, x).dtype) ? tc_r1(&c->r, c->op, x) : tc_r2(&c->r, TC_OP_ne, x, x);
}

struct tc_value *tc_fn_logical_not(struct tc_call *c) {
  return tc_r1(&c->r, TC_OP_logical_not, tc_r_cast(&c->r, tc_call_tensor(c, 0), TC_BOOL));
}

struct tc_value *tc_fn_square(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  if (tc_r_meta(&c->r, x).dtype == TC_BOOL) x = tc_r_cast(&c->r, x, TC_I64);
  return tc_r2(&c->r, TC_OP_mul, x, x);
}

/* ---- two operands ---- */

struct pair {
  struct tc_operand operands[2];
  tc_dtype dtype;
};

/* Reads the first two arguments; one of them is a tensor. */
static bool read_pair(struct tc_call *c, struct pair *p) {
  if (!tc_call_operand(c, 0, &p->operands[0]) || !tc_call_operand(c, 1, &p->operands[1])) return false;
  const struct tc_operand *x = &p->operands[0], *y = &p->operands[1];
  if (!x->value && !y->value) {
    tc_call_bad_arg(c, 0, "a tensor (or the other operand must be one)");
    return false;
  }
  if (x->value && y->value && x->meta.dtype == y->meta.dtype)
    p->dtype = x->meta.dtype; /* the common case */
  else
    p->dtype = tc_result_type(c->r.b, 2, p->operands);
  return true;
}

static struct tc_value *emit_pair(struct tc_call *c, const struct pair *p, tc_op op, tc_dtype dtype) {
  struct tc_value *x = tc_call_as(c, &p->operands[0], dtype), *y = tc_call_as(c, &p->operands[1], dtype);
  return tc_r2(&c->r, op, x, y);
}

/* What arithmetic on two bools means; TC_OP_NONE: nothing. */
static tc_op bool_meaning(tc_op op) {
  switch (op) {
    case TC_OP_add:
    case TC_OP_maximum: return TC_OP_logical_or;
    case TC_OP_mul:
    case TC_OP_minimum: return TC_OP_logical_and;
    default: return (tc_op)TC_OP_NONE;
  }
}

static struct tc_value *arithmetic(struct tc_call *c, const struct pair *p, tc_op op) {
  if (p->dtype != TC_BOOL) return emit_pair(c, p, op, p->dtype);
  const tc_op meaning = bool_meaning(op);
  if (meaning == (tc_op)TC_OP_NONE)
    return fail_dtype(c, TC_BOOL, "is not defined for two bools; cast to i64, or use a logical operation");
  return emit_pair(c, p, meaning, TC_BOOL);
}

struct tc_value *tc_fn_arithmetic(struct tc_call *c) {
  struct pair p;
  return read_pair(c, &p) ? arithmetic(c, &p, c->op) : NULL;
}

static bool is_bool(const struct tc_operand *o) {
  return o->value ? o->meta.dtype == TC_BOOL : o->scalar->kind == TC_ARG_BOOL;
}

/* add and sub, with alpha. */
struct tc_value *tc_fn_add(struct tc_call *c) {
  struct pair p;
  if (!read_pair(c, &p)) return NULL;
  if (c->op == TC_OP_sub && (is_bool(&p.operands[0]) || is_bool(&p.operands[1])))
    return fail_dtype(
        c, TC_BOOL, "subtraction is not defined for bools; use logical_xor, or logical_not to invert a mask");
  if (!tc_call_given(c, 2)) return arithmetic(c, &p, c->op);
  if (p.dtype == TC_BOOL) return fail_dtype(c, TC_BOOL, "alpha needs numbers");
  if (c->args[2].kind == TC_ARG_NUM && !tc_dtype_is_float(p.dtype))
    return fail_dtype(c, p.dtype, "alpha must be an integer for integer operands");
  struct tc_value *other = tc_call_as(c, &p.operands[1], p.dtype);
  other = tc_r2(&c->r, TC_OP_mul, other, tc_call_scalar(c, &c->args[2], p.dtype));
  return tc_r2(&c->r, c->op, tc_call_as(c, &p.operands[0], p.dtype), other);
}

/* Toward zero: the floor, plus one where the quotient is negative and not exact. */
static struct tc_value *divide_trunc(struct tc_call *c, struct tc_value *x, struct tc_value *y,
                                     tc_dtype dtype) {
  struct tc_rule *r = &c->r;
  struct tc_value *zero = tc_r_scalar(r, dtype, 0);
  if (tc_dtype_is_float(dtype)) {
    struct tc_value *q = tc_r2(r, TC_OP_div, x, y), *negative = tc_r2(r, TC_OP_lt, q, zero);
    struct tc_value *up = tc_r1(r, TC_OP_ceil, q), *down = tc_r1(r, TC_OP_floor, q);
    return tc_r3(r, TC_OP_where, negative, up, down);
  }
  struct tc_value *q = tc_r2(r, TC_OP_floor_divide, x, y);
  struct tc_value *inexact = tc_r2(r, TC_OP_ne, tc_r2(r, TC_OP_mul, q, y), x);
  struct tc_value *up = tc_r2(r, TC_OP_logical_and, inexact, tc_r2(r, TC_OP_lt, q, zero));
  return tc_r2(r, TC_OP_add, q, tc_r_cast(r, up, dtype));
}

struct tc_value *tc_fn_div(struct tc_call *c) {
  struct pair p;
  const char *rounding = tc_call_text(c, 2, NULL);
  if (!read_pair(c, &p)) return NULL;
  if (!rounding) return emit_pair(c, &p, TC_OP_div, tc_float_dtype(c->r.b, p.dtype));
  if (!strcmp(rounding, "floor")) return arithmetic(c, &p, TC_OP_floor_divide);
  if (strcmp(rounding, "trunc"))
    return tc_call_fail(c, TC_ARG, "rounding_mode is 'floor', 'trunc' or nil, not '%s'", rounding);
  if (p.dtype == TC_BOOL) return fail_dtype(c, TC_BOOL, "is not defined for two bools; cast to i64");
  return divide_trunc(c, tc_call_as(c, &p.operands[0], p.dtype), tc_call_as(c, &p.operands[1], p.dtype),
                      p.dtype);
}

struct tc_value *tc_fn_compare(struct tc_call *c) {
  struct pair p;
  return read_pair(c, &p) ? emit_pair(c, &p, c->op, p.dtype) : NULL;
}

struct tc_value *tc_fn_logical(struct tc_call *c) {
  struct pair p;
  return read_pair(c, &p) ? emit_pair(c, &p, c->op, TC_BOOL) : NULL;
}

/* Powers that have a cheaper form of the same value; NULL when this is none of them. */
static struct tc_value *simple_power(struct tc_call *c, struct tc_value *x, tc_dtype dtype, double exponent) {
  struct tc_rule *r = &c->r;
  if (exponent == 1) return tc_r1(r, TC_OP_clone, x);
  if (exponent == 2) return tc_r2(r, TC_OP_mul, x, x);
  if (exponent == 3) return tc_r2(r, TC_OP_mul, tc_r2(r, TC_OP_mul, x, x), x);
  if (!tc_dtype_is_float(dtype)) return NULL;
  if (exponent == 0.5) return tc_r1(r, TC_OP_sqrt, x);
  if (exponent == -0.5) return tc_r1(r, TC_OP_rsqrt, x);
  if (exponent == -1) return tc_r1(r, TC_OP_reciprocal, x);
  if (exponent == -2) return tc_r1(r, TC_OP_reciprocal, tc_r2(r, TC_OP_mul, x, x));
  return NULL;
}

struct tc_value *tc_fn_pow(struct tc_call *c) {
  struct pair p;
  if (!read_pair(c, &p)) return NULL;
  if (p.dtype == TC_BOOL) return fail_dtype(c, TC_BOOL, "is not defined for two bools; cast to i64");
  if (p.operands[1].value) return emit_pair(c, &p, TC_OP_pow, p.dtype);
  if (tc_call_is_symbol(p.operands[1].scalar)) return emit_pair(c, &p, TC_OP_pow, p.dtype);
  const double exponent = tc_call_real(c, p.operands[1].scalar);
  if (!tc_dtype_is_float(p.dtype) && exponent < 0)
    return tc_call_fail(c, TC_ARG, "integers to negative integer powers are not allowed");
  struct tc_value *x = tc_call_as(c, &p.operands[0], p.dtype);
  struct tc_value *simple = simple_power(c, x, p.dtype, exponent);
  return simple || c->r.status ? simple : tc_r2(&c->r, TC_OP_pow, x, tc_call_as(c, &p.operands[1], p.dtype));
}

/* ---- three operands ---- */

struct tc_value *tc_fn_clamp(struct tc_call *c) {
  struct tc_operand operands[3];
  bool given[3];
  int count = 0;
  for (int i = 0; i < 3; i++) {
    given[i] = i == 0 || tc_call_given(c, i);
    if (given[i] && !tc_call_operand(c, i, &operands[count++])) return NULL;
  }
  if (!operands[0].value) return tc_call_bad_arg(c, 0, "a tensor");
  if (count == 1) return tc_call_fail(c, TC_ARG, "at least one of min and max must be given");
  const tc_dtype dtype = tc_result_type(c->r.b, count, operands);
  if (dtype == TC_BOOL) return fail_dtype(c, TC_BOOL, "takes numbers");
  struct tc_value *x = tc_call_as(c, &operands[0], dtype);
  if (given[1]) x = tc_r2(&c->r, TC_OP_maximum, x, tc_call_as(c, &operands[1], dtype));
  if (given[2]) x = tc_r2(&c->r, TC_OP_minimum, x, tc_call_as(c, &operands[count - 1], dtype));
  return x;
}

static struct tc_value *mask_tensor(struct tc_call *c, int arg) {
  struct tc_value *mask = tc_call_tensor(c, arg);
  const tc_dtype dtype = tc_r_meta(&c->r, mask).dtype;
  return mask && dtype != TC_BOOL
             ? fail_dtype(c, dtype, "the condition must be bool; compare, or cast with :bool()")
             : mask;
}

struct tc_value *tc_fn_where(struct tc_call *c) {
  struct tc_operand operands[2];
  struct tc_value *condition = mask_tensor(c, 0);
  if (!tc_call_operand(c, 1, &operands[0]) || !tc_call_operand(c, 2, &operands[1])) return NULL;
  const tc_dtype dtype = tc_result_type(c->r.b, 2, operands);
  struct tc_value *x = tc_call_as(c, &operands[0], dtype), *other = tc_call_as(c, &operands[1], dtype);
  return tc_r3(&c->r, TC_OP_where, condition, x, other);
}

struct tc_value *tc_fn_masked_fill(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0), *mask = mask_tensor(c, 1);
  struct tc_operand value;
  if (!tc_call_operand(c, 2, &value)) return NULL;
  if (value.value && value.meta.ndim) return tc_call_bad_arg(c, 2, "a number or a 0-dimensional tensor");
  return tc_r3(&c->r, TC_OP_where, mask, tc_call_as(c, &value, tc_r_meta(&c->r, x).dtype), x);
}
