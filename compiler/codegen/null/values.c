/* Scalar values: operators, casts, random numbers, reductions, memory. */
#include <math.h>
#include <string.h>

#include "codegen/null/internal.h"

struct null_value null_number(tc_dtype dtype, double value) {
  return (struct null_value){.f = dtype == TC_F64 ? value : (double)(float)value};
}
struct null_value null_integer(int64_t value) { return (struct null_value){.i = value}; }

static int64_t truncated(double value) {
  static const double limit = 9223372036854775808.0; /* 2^63 */
  return value > -limit && value < limit ? (int64_t)value : INT64_MIN;
}

struct null_value null_cast(struct null_value v, tc_dtype from, tc_dtype to) {
  const bool from_float = tc_dtype_is_float(from);
  if (tc_dtype_is_float(to)) return null_number(to, from_float ? v.f : (double)v.i);
  if (to == TC_BOOL) return null_integer(from_float ? v.f != 0 : v.i != 0);
  return null_integer(from_float ? truncated(v.f) : v.i);
}

static double max_nan(double a, double b) { return isnan(a) || isnan(b) ? NAN : a > b ? a : b; }
static double min_nan(double a, double b) { return isnan(a) || isnan(b) ? NAN : a < b ? a : b; }
/* PyTorch's, in the dtype's own arithmetic: each step rounds. */
#define QUOTIENTS(T, FMOD, FLOOR, COPYSIGN)                                                                  \
  static double remainder_##T(T a, T b) {                                                                    \
    const T r = FMOD(a, b);                                                                                  \
    return (double)(r != 0 && (r < 0) != (b < 0) ? r + b : r);                                               \
  }                                                                                                          \
  static double floor_divide_##T(T a, T b) {                                                                 \
    if (b == 0) return (double)(a / b);                                                                      \
    const T r = FMOD(a, b);                                                                                  \
    T quotient = (a - r) / b;                                                                                \
    if (r != 0 && (r < 0) != (b < 0)) quotient -= 1;                                                         \
    if (quotient == 0) return (double)COPYSIGN((T)0, a / b);                                                 \
    const T below = FLOOR(quotient);                                                                         \
    return (double)(quotient - below > (T)0.5 ? below + 1 : below);                                          \
  }
QUOTIENTS(float, fmodf, floorf, copysignf)
QUOTIENTS(double, fmod, floor, copysign)

static double quotient_op(enum tc_expr_op op, tc_dtype dtype, double a, double b) {
  if (op == TC_E_FLOORDIV)
    return dtype == TC_F64 ? floor_divide_double(a, b) : floor_divide_float((float)a, (float)b);
  return dtype == TC_F64 ? remainder_double(a, b) : remainder_float((float)a, (float)b);
}

static double real_op(enum tc_expr_op op, double a, double b) {
  switch (op) {
    case TC_E_ROUND: return (double)tc_bf16_to_f32(tc_f32_to_bf16((float)a));
    case TC_E_NEG: return -a;
    case TC_E_ABS: return fabs(a);
    case TC_E_SIGN: return isnan(a) ? a : (a > 0) - (a < 0);
    case TC_E_FLOOR: return floor(a);
    case TC_E_CEIL: return ceil(a);
    case TC_E_RECIPROCAL: return 1 / a;
    case TC_E_SQRT: return sqrt(a);
    case TC_E_RSQRT: return 1 / sqrt(a);
    case TC_E_EXP: return exp(a);
    case TC_E_LOG: return log(a);
    case TC_E_LOG1P: return log1p(a);
    case TC_E_SIN: return sin(a);
    case TC_E_COS: return cos(a);
    case TC_E_TAN: return tan(a);
    case TC_E_TANH: return tanh(a);
    case TC_E_SIGMOID: return 1 / (1 + exp(-a));
    case TC_E_ERF: return erf(a);
    case TC_E_RELU: return isnan(a) ? a : a > 0 ? a : 0;
    case TC_E_ADD: return a + b;
    case TC_E_SUB: return a - b;
    case TC_E_MUL: return a * b;
    case TC_E_DIV: return a / b;
    case TC_E_POW: return pow(a, b);
    case TC_E_MAX: return max_nan(a, b);
    case TC_E_MIN: return min_nan(a, b);
    default: return NAN;
  }
}

static int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
  uint64_t result = 1, square = (uint64_t)base;
  for (; exponent; exponent >>= 1, square *= square)
    if (exponent & 1) result *= square;
  return (int64_t)result;
}

static int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t whole_op(enum tc_expr_op op, int64_t a, int64_t b) {
  switch (op) { /* unsigned arithmetic wraps */
    case TC_E_NEG: return (int64_t)(0 - (uint64_t)a);
    case TC_E_ABS: return a < 0 ? (int64_t)(0 - (uint64_t)a) : a;
    case TC_E_SIGN: return (a > 0) - (a < 0);
    case TC_E_RELU: return a > 0 ? a : 0;
    case TC_E_ADD: return (int64_t)((uint64_t)a + (uint64_t)b);
    case TC_E_SUB: return (int64_t)((uint64_t)a - (uint64_t)b);
    case TC_E_MUL: return (int64_t)((uint64_t)a * (uint64_t)b);
    case TC_E_FLOORDIV: return floor_divide(a, b);
    case TC_E_REMAINDER: return (int64_t)((uint64_t)a - (uint64_t)floor_divide(a, b) * (uint64_t)b);
    case TC_E_POW: return power(a, b);
    case TC_E_MAX: return a > b ? a : b;
    case TC_E_MIN: return a < b ? a : b;
    case TC_E_NOT: return !a;
    case TC_E_AND: return a && b;
    case TC_E_OR: return a || b;
    case TC_E_XOR: return !a != !b;
    default: return a; /* FLOOR and CEIL of an integer */
  }
}

static bool compare(enum tc_expr_op op, bool floats, const struct null_value *v) {
  const bool less = floats ? v[0].f < v[1].f : v[0].i < v[1].i,
             equal = floats ? v[0].f == v[1].f : v[0].i == v[1].i;
  const bool greater = floats ? v[0].f > v[1].f : v[0].i > v[1].i;
  switch (op) {
    case TC_E_EQ: return equal;
    case TC_E_NE: return !equal;
    case TC_E_LT: return less;
    case TC_E_LE: return less || equal;
    case TC_E_GT: return greater;
    default: return greater || equal;
  }
}

struct null_value null_apply(const struct tc_expr *e, const struct null_value *args) {
  const tc_dtype from = e->args[0]->dtype;
  const double second = tc_expr_arity(e->op) > 1 ? args[1].f : 0;
  switch (e->op) {
    case TC_E_CAST: return null_cast(args[0], from, e->dtype);
    case TC_E_ISNAN: return null_integer(tc_dtype_is_float(from) && isnan(args[0].f));
    case TC_E_ISINF: return null_integer(tc_dtype_is_float(from) && isinf(args[0].f));
    case TC_E_SELECT: return args[0].i ? args[1] : args[2];
    case TC_E_FMA: return null_number(e->dtype, fma(args[0].f, args[1].f, args[2].f));
    case TC_E_EQ:
    case TC_E_NE:
    case TC_E_LT:
    case TC_E_LE:
    case TC_E_GT:
    case TC_E_GE: return null_integer(compare(e->op, tc_dtype_is_float(from), args));
    default: break;
  }
  if (tc_dtype_is_float(e->dtype) && (e->op == TC_E_FLOORDIV || e->op == TC_E_REMAINDER))
    return null_number(e->dtype, quotient_op(e->op, e->dtype, args[0].f, second));
  if (tc_dtype_is_float(e->dtype)) return null_number(e->dtype, real_op(e->op, args[0].f, second));
  return null_integer(whole_op(e->op, args[0].i, tc_expr_arity(e->op) > 1 ? args[1].i : 0));
}

/* --- random numbers --- */

enum { PHILOX_ROUNDS = 10, WORD_BITS = 32, DROPPED_BITS = 8 };
static const uint32_t M0 = 0xD2511F53u, M1 = 0xCD9E8D57u, W0 = 0x9E3779B9u, W1 = 0xBB67AE85u;
static const double STEP = 1.0 / 16777216.0; /* 2^-24 */

struct null_value null_random(const struct tc_expr *e, const uint64_t *rng, int64_t element) {
  const uint64_t draw = rng[1] + (uint64_t)e->acc, at = (uint64_t)element;
  uint32_t key0 = (uint32_t)rng[0], key1 = (uint32_t)(rng[0] >> WORD_BITS);
  uint32_t w[4] = {(uint32_t)at, (uint32_t)(at >> WORD_BITS), (uint32_t)draw, (uint32_t)(draw >> WORD_BITS)};
  for (int round = 0; round < PHILOX_ROUNDS; round++, key0 += W0, key1 += W1) {
    const uint64_t p0 = (uint64_t)M0 * w[0], p1 = (uint64_t)M1 * w[2];
    w[0] = (uint32_t)(p1 >> WORD_BITS) ^ w[1] ^ key0;
    w[1] = (uint32_t)p1;
    w[2] = (uint32_t)(p0 >> WORD_BITS) ^ w[3] ^ key1;
    w[3] = (uint32_t)p0;
  }
  if (e->op == TC_E_UNIFORM) return null_number(e->dtype, (w[0] >> DROPPED_BITS) * STEP);
  const double u1 = ((w[0] >> DROPPED_BITS) + 1) * STEP, u2 = (w[1] >> DROPPED_BITS) * STEP;
  return null_number(e->dtype, sqrt(-2 * log(u1)) * cos(2 * M_PI * u2));
}

/* --- memory --- */

struct null_value null_read(tc_dtype dtype, const void *buffer, int64_t element) {
  switch (dtype) {
    case TC_BOOL: return null_integer(((const uint8_t *)buffer)[element] != 0);
    case TC_I64: return null_integer(((const int64_t *)buffer)[element]);
    case TC_BF16: return null_number(TC_F32, (double)tc_bf16_to_f32(((const uint16_t *)buffer)[element]));
    case TC_F32: return null_number(TC_F32, (double)((const float *)buffer)[element]);
    default: return null_number(TC_F64, ((const double *)buffer)[element]);
  }
}

void null_write(tc_dtype dtype, void *buffer, int64_t element, tc_dtype from, struct null_value value) {
  const struct null_value v = null_cast(value, from, tc_compute_dtype(dtype));
  switch (dtype) {
    case TC_BOOL: ((uint8_t *)buffer)[element] = (uint8_t)v.i; break;
    case TC_I64: ((int64_t *)buffer)[element] = v.i; break;
    case TC_BF16: ((uint16_t *)buffer)[element] = tc_f32_to_bf16((float)v.f); break;
    case TC_F32: ((float *)buffer)[element] = (float)v.f; break;
    default: ((double *)buffer)[element] = v.f; break;
  }
}

/* --- reductions --- */

struct null_value null_reduce_start(enum tc_reduction op, tc_dtype dtype) {
  const bool floats = tc_dtype_is_float(dtype);
  switch (op) {
    case TC_RED_PROD: return floats ? null_number(dtype, 1) : null_integer(1);
    case TC_RED_ALL: return null_integer(1);
    case TC_RED_MAX: return floats ? null_number(dtype, -INFINITY) : null_integer(INT64_MIN);
    case TC_RED_MIN: return floats ? null_number(dtype, INFINITY) : null_integer(INT64_MAX);
    default: return (struct null_value){0};
  }
}

/* Is `v` the better extremum? NaN is better than any number. */
static bool better(bool largest, tc_dtype dtype, struct null_value v, struct null_value best) {
  if (!tc_dtype_is_float(dtype)) return largest ? v.i > best.i : v.i < best.i;
  if (isnan(best.f)) return false;
  return isnan(v.f) || (largest ? v.f > best.f : v.f < best.f);
}

void null_reduce(enum tc_reduction op, tc_dtype dtype, struct null_state *s, struct null_value v,
                 int64_t position) {
  const bool floats = tc_dtype_is_float(dtype);
  switch (op) {
    case TC_RED_SUM:
      s->value = floats ? (struct null_value){.f = s->value.f + v.f}
                        : null_integer(whole_op(TC_E_ADD, s->value.i, v.i));
      break;
    case TC_RED_PROD:
      s->value = floats ? (struct null_value){.f = s->value.f * v.f}
                        : null_integer(whole_op(TC_E_MUL, s->value.i, v.i));
      break;
    case TC_RED_MAX:
      s->value = floats ? (struct null_value){.f = max_nan(s->value.f, v.f)}
                        : null_integer(s->value.i > v.i ? s->value.i : v.i);
      break;
    case TC_RED_MIN:
      s->value = floats ? (struct null_value){.f = min_nan(s->value.f, v.f)}
                        : null_integer(s->value.i < v.i ? s->value.i : v.i);
      break;
    case TC_RED_ANY: s->value.i |= v.i != 0; break;
    case TC_RED_ALL: s->value.i &= v.i != 0; break;
    case TC_RED_ARGMAX:
    case TC_RED_ARGMIN:
      if (!s->any || better(op == TC_RED_ARGMAX, dtype, v, s->value)) s->value = v, s->position = position;
      break;
  }
  s->any = true;
}
