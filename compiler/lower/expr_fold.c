/* Folding of expressions: constants, and identities that keep every bit of the result.
 *
 * 1. A float result is rounded to the node's dtype, as the machine would; F32 sums, products and
 *    quotients of F32 values are exact enough in double to round once to the right F32.
 * 2. Transcendental functions never fold: the generated code's polynomials decide their last bit.
 * 3. x + 0 and x · 0 are not identities (−0, NaN); x − 0, x · 1, x / 1 are. Identities are rows of
 *    rewrites.def. */
#include <math.h>

#include "lower/expr_internal.h"

static bool is_const(const struct tc_expr *e) { return e && e->op == TC_E_CONST; }
static bool is_float(const struct tc_expr *e) { return tc_dtype_is_float(e->dtype); }

static bool fold_float(enum tc_expr_op op, double a, double b, double *result) {
  switch (op) {
    case TC_E_NEG: *result = -a; return true;
    case TC_E_ABS: *result = fabs(a); return true;
    case TC_E_FLOOR: *result = floor(a); return true;
    case TC_E_CEIL: *result = ceil(a); return true;
    case TC_E_RECIPROCAL: *result = 1 / a; return true;
    case TC_E_SQRT: *result = sqrt(a); return true;
    case TC_E_ADD: *result = a + b; return true;
    case TC_E_SUB: *result = a - b; return true;
    case TC_E_MUL: *result = a * b; return true;
    case TC_E_DIV: *result = a / b; return true;
    case TC_E_MAX: *result = isnan(a) || isnan(b) ? NAN : a > b ? a : b; return true;
    case TC_E_MIN: *result = isnan(a) || isnan(b) ? NAN : a < b ? a : b; return true;
    default: return false;
  }
}

static bool fold_integer(enum tc_expr_op op, int64_t a, int64_t b, int64_t *result) {
  switch (op) { /* unsigned arithmetic wraps, as the machine does */
    case TC_E_NEG: *result = (int64_t)(0 - (uint64_t)a); return true;
    case TC_E_ADD: *result = (int64_t)((uint64_t)a + (uint64_t)b); return true;
    case TC_E_SUB: *result = (int64_t)((uint64_t)a - (uint64_t)b); return true;
    case TC_E_MUL: *result = (int64_t)((uint64_t)a * (uint64_t)b); return true;
    case TC_E_MAX: *result = a > b ? a : b; return true;
    case TC_E_MIN: *result = a < b ? a : b; return true;
    case TC_E_NOT: *result = !a; return true;
    case TC_E_AND: *result = a && b; return true;
    case TC_E_OR: *result = a || b; return true;
    case TC_E_XOR: *result = !a != !b; return true;
    default: return false;
  }
}

static bool fold_compare(enum tc_expr_op op, const struct tc_expr *a, const struct tc_expr *b, bool *result) {
  const bool floats = is_float(a);
  const bool less = floats ? a->number < b->number : a->integer < b->integer;
  const bool equal = floats ? a->number == b->number : a->integer == b->integer;
  const bool greater = floats ? a->number > b->number : a->integer > b->integer;
  switch (op) {
    case TC_E_EQ: *result = equal; return true;
    case TC_E_NE: *result = !equal; return true;
    case TC_E_LT: *result = less; return true;
    case TC_E_LE: *result = less || equal; return true;
    case TC_E_GT: *result = greater; return true;
    case TC_E_GE: *result = greater || equal; return true;
    default: return false;
  }
}

static const struct tc_expr *number(struct tc_expr_table *table, tc_dtype dtype, double value) {
  return tc_expr_num(table, dtype, value);
}
static const struct tc_expr *integer(struct tc_expr_table *table, tc_dtype dtype, int64_t value) {
  return tc_expr_int(table, dtype, value);
}

static const struct tc_expr *fold_constants(struct tc_expr_table *table, const struct tc_expr *e) {
  const struct tc_expr *a = e->args[0], *b = e->args[1];
  if (!is_const(a) || (b && !is_const(b)) || e->args[2] || e->op == TC_E_CAST || e->op == TC_E_CHECK ||
      e->op == TC_E_LOAD)
    return NULL;
  double real;
  int64_t whole;
  bool truth;
  if (b && fold_compare(e->op, a, b, &truth)) return integer(table, TC_BOOL, truth);
  if (is_float(a) && e->op == TC_E_ISNAN) return integer(table, TC_BOOL, isnan(a->number));
  if (is_float(a) && e->op == TC_E_ISINF) return integer(table, TC_BOOL, isinf(a->number));
  if (is_float(a) && tc_dtype_is_float(e->dtype) && fold_float(e->op, a->number, b ? b->number : 0, &real))
    return number(table, e->dtype, real);
  if (!is_float(a) && !tc_dtype_is_float(e->dtype) &&
      fold_integer(e->op, a->integer, b ? b->integer : 0, &whole))
    return integer(table, e->dtype, whole);
  return NULL;
}

static const double I64_LIMIT = 9223372036854775808.0; /* 2^63 */

static const struct tc_expr *fold_cast(struct tc_expr_table *table, const struct tc_expr *e) {
  const struct tc_expr *a = e->args[0];
  if (a->dtype == e->dtype) return a;
  /* There and back: F32 → F64 → F32 keeps every bit. */
  if (a->op == TC_E_CAST && e->dtype == TC_F32 && a->dtype == TC_F64 && a->args[0]->dtype == TC_F32)
    return a->args[0];
  if (!is_const(a)) return NULL;
  if (!is_float(a)) return integer(table, e->dtype, a->integer);
  if (tc_dtype_is_float(e->dtype)) return number(table, e->dtype, a->number);
  if (e->dtype == TC_BOOL) return integer(table, TC_BOOL, a->number != 0);
  return fabs(a->number) < I64_LIMIT ? integer(table, e->dtype, (int64_t)a->number) : NULL;
}

static const struct tc_expr *fold_load(struct tc_expr_table *table, const struct tc_expr *e) {
  if (!is_const(e->args[1])) return NULL;
  if (!e->args[1]->integer) return number(table, e->dtype, 0);
  struct tc_expr always = *e;
  always.args[1] = NULL;
  return tc_expr_intern(table, &always);
}

/* An index comparison whose bounds decide it. */
static const struct tc_expr *fold_bounds(struct tc_expr_table *table, const struct tc_expr *e) {
  int64_t low[2], high[2];
  for (int i = 0; i < 2; i++) {
    const struct tc_expr *a = e->args[i];
    if (a->op == TC_E_CONST && a->dtype == TC_I64)
      low[i] = high[i] = a->integer;
    else if (a->op != TC_E_INDEX || !tc_sym_bounds(a->address, &low[i], &high[i]))
      return NULL;
  }
  const bool swap = e->op == TC_E_GT || e->op == TC_E_GE;
  const int a = swap, b = !swap;
  if (e->op == TC_E_LT || e->op == TC_E_GT) {
    if (high[a] < low[b]) return integer(table, TC_BOOL, 1);
    if (low[a] >= high[b]) return integer(table, TC_BOOL, 0);
  }
  if (e->op == TC_E_LE || e->op == TC_E_GE) {
    if (high[a] <= low[b]) return integer(table, TC_BOOL, 1);
    if (low[a] > high[b]) return integer(table, TC_BOOL, 0);
  }
  return NULL;
}

static const struct tc_expr *rewritten(struct tc_expr_table *table, const struct tc_patterns *patterns,
                                       struct tc_fuel *fuel, const struct tc_expr *e) {
  const struct tc_expr *to = patterns ? tc_rewrite_by_patterns(table, patterns, e) : tc_rewrite(table, e);
  if (!to || !tc_fuel_spend(fuel, TC_FUEL_rewrite)) return NULL;
  if (tc_fuel_ended(fuel, TC_FUEL_rewrite))
    tc_fuel_tell(fuel, TC_FUEL_rewrite, "%s becomes %s", tc_expr_op_name(e->op), tc_expr_op_name(to->op));
  return to;
}

static const struct tc_expr *fold_identity(struct tc_expr_table *table, const struct tc_patterns *patterns,
                                           struct tc_fuel *fuel, const struct tc_expr *e) {
  const struct tc_expr *a = e->args[0];
  switch (e->op) {
    case TC_E_INDEX:
      return tc_sym_is_const(e->address) ? integer(table, TC_I64, tc_sym_value(e->address)) : NULL;
    case TC_E_LOAD: return fold_load(table, e);
    case TC_E_CAST: return fold_cast(table, e);
    case TC_E_DIVISOR: return is_const(a) && a->integer ? a : NULL;
    case TC_E_LT:
    case TC_E_LE:
    case TC_E_GT:
    case TC_E_GE: return fold_bounds(table, e);
    default: return rewritten(table, patterns, fuel, e);
  }
}

const struct tc_expr *tc_expr_fold(struct tc_expr_table *table, const struct tc_patterns *patterns,
                                   struct tc_fuel *fuel, const struct tc_expr *proto) {
  if (proto->op == TC_E_CONST) return NULL;
  const struct tc_expr *folded = fold_constants(table, proto);
  return folded ? folded : fold_identity(table, patterns, fuel, proto);
}
