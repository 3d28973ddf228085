/* The shared polynomials over plain C floats. */
#include "tests/compiler/codegen/reference_math.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/slow_path.h"

#define PRIMITIVES(real, integer, FMA, SQRT, FABS, FLOOR)                                                    \
  static inline real p_const(int c, double x) { return (void)c, (real)x; }                                   \
  static inline integer p_iconst(int c, int64_t x) { return (void)c, (integer)x; }                           \
  static inline real p_add(int c, real a, real b) { return (void)c, a + b; }                                 \
  static inline real p_sub(int c, real a, real b) { return (void)c, a - b; }                                 \
  static inline real p_mul(int c, real a, real b) { return (void)c, a * b; }                                 \
  static inline real p_div(int c, real a, real b) { return (void)c, a / b; }                                 \
  static inline real p_sqrt(int c, real a) { return (void)c, SQRT(a); }                                      \
  static inline real p_abs(int c, real a) { return (void)c, FABS(a); }                                       \
  static inline real p_neg(int c, real a) { return (void)c, -a; }                                            \
  static inline real p_floor(int c, real a) { return (void)c, FLOOR(a); }                                    \
  static inline real p_fma(int c, real a, real b, real x) { return (void)c, FMA(a, b, x); }                  \
  static inline real p_min(int c, real a, real b) { return (void)c, a < b ? a : b; }                         \
  static inline real p_max(int c, real a, real b) { return (void)c, a > b ? a : b; }                         \
  static inline int p_lt(int c, real a, real b) { return (void)c, a < b; }                                   \
  static inline int p_le(int c, real a, real b) { return (void)c, a <= b; }                                  \
  static inline int p_eq(int c, real a, real b) { return (void)c, a == b; }                                  \
  static inline real p_select(int c, int m, real a, real b) { return (void)c, m ? a : b; }                   \
  static inline int p_mand(int c, int a, int b) { return (void)c, a & b; }                                   \
  static inline int p_mor(int c, int a, int b) { return (void)c, a | b; }                                    \
  static inline int p_mnot(int c, int a) { return (void)c, !a; }                                             \
  static inline integer p_bits(int c, real a) {                                                              \
    integer i;                                                                                               \
    return (void)c, memcpy(&i, &a, sizeof i), i;                                                             \
  }                                                                                                          \
  static inline real p_from_bits(int c, integer i) {                                                         \
    real a;                                                                                                  \
    return (void)c, memcpy(&a, &i, sizeof a), a;                                                             \
  }                                                                                                          \
  static inline integer p_iadd(int c, integer a, integer b) { return (void)c, a + b; }                       \
  static inline integer p_isub(int c, integer a, integer b) { return (void)c, a - b; }                       \
  static inline integer p_iand(int c, integer a, integer b) { return (void)c, a & b; }                       \
  static inline integer p_ixor(int c, integer a, integer b) { return (void)c, a ^ b; }                       \
  static inline integer p_ishl(int c, integer a, int n) { return (void)c, a << n; }                          \
  static inline integer p_ishr(int c, integer a, int n) { return (void)c, a >> n; }                          \
  static inline int p_iodd(int c, integer a) { return (void)c, (int)(a & 1); }

/* What is left to the includer: here every lane is one element. */
#define FAR_PRIMITIVES(real, width)                                                                          \
  static inline void far_turns_##width(int far, real x, int turns, real *r, real *odd) {                     \
    if (far) tc_far_turns_##width(&x, r, odd, 1, turns);                                                     \
  }
FAR_PRIMITIVES(float, f32)
FAR_PRIMITIVES(double, f64)

#define POLY_CTX int
#define POLY_M   int
#define POLY_FN  static inline __attribute__((unused))

/* The primitives' names are taken by the width that comes first; macros give each its own. */
#define p_const     f_const
#define p_iconst    f_iconst
#define p_add       f_add
#define p_sub       f_sub
#define p_mul       f_mul
#define p_div       f_div
#define p_sqrt      f_sqrt
#define p_abs       f_abs
#define p_neg       f_neg
#define p_floor     f_floor
#define p_fma       f_fma
#define p_min       f_min
#define p_max       f_max
#define p_lt        f_lt
#define p_le        f_le
#define p_eq        f_eq
#define p_select    f_select
#define p_mand      f_mand
#define p_mor       f_mor
#define p_mnot      f_mnot
#define p_bits      f_bits
#define p_from_bits f_from_bits
#define p_iadd      f_iadd
#define p_isub      f_isub
#define p_iand      f_iand
#define p_ixor      f_ixor
#define p_ishl      f_ishl
#define p_ishr      f_ishr
#define p_iodd      f_iodd
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
PRIMITIVES(float, uint32_t, fmaf, sqrtf, fabsf, floorf)
#define POLY_F64                              0
#define POLY_V                                float
#define POLY_I                                uint32_t
#define POLY_NAME(x)                          ref32_##x
#define p_far_turns(c, far, x, turns, r, odd) far_turns_f32(far, x, turns, r, odd)
#include "codegen/polynomials.h"
#undef POLY_F64
#undef POLY_V
#undef POLY_I
#undef POLY_NAME
#undef p_const
#undef p_iconst
#undef p_add
#undef p_sub
#undef p_mul
#undef p_div
#undef p_sqrt
#undef p_abs
#undef p_neg
#undef p_floor
#undef p_fma
#undef p_min
#undef p_max
#undef p_lt
#undef p_le
#undef p_eq
#undef p_select
#undef p_mand
#undef p_mor
#undef p_mnot
#undef p_bits
#undef p_from_bits
#undef p_iadd
#undef p_isub
#undef p_iand
#undef p_ixor
#undef p_ishl
#undef p_ishr
#undef p_iodd
#undef p_far_turns
#define p_far_turns(c, far, x, turns, r, odd) far_turns_f64(far, x, turns, r, odd)
PRIMITIVES(double, uint64_t, fma, sqrt, fabs, floor)
#define POLY_F64     1
#define POLY_V       double
#define POLY_I       uint64_t
#define POLY_NAME(x) ref64_##x
#include "codegen/polynomials.h"
#pragma GCC diagnostic pop

double reference_function(enum tc_expr_op op, tc_dtype dtype, double a) {
#define ROW(NAME, name)                                                                                      \
  case TC_E_##NAME: return dtype == TC_F64 ? ref64_##name(0, a) : (double)ref32_##name(0, (float)a);
  switch (op) {
    /* clang-format off */
    ROW(EXP, exp)
    ROW(LOG, log)
    ROW(LOG1P, log1p)
    ROW(SIN, sin)
    ROW(COS, cos)
    ROW(TAN, tan)
    ROW(TANH, tanh)
    ROW(SIGMOID, sigmoid)
    ROW(ERF, erf)
    ROW(RSQRT, rsqrt)
    /* clang-format on */
    default: abort();
  }
#undef ROW
}

double reference_power(tc_dtype dtype, double a, double b) {
  return dtype == TC_F64 ? ref64_pow(0, a, b) : (double)(float)ref64_pow_of_f32(0, a, b);
}

float reference_normal(float u1, float u2) {
  return sqrtf(-2.0f * ref32_log(0, u1)) * ref32_cos(0, 6.283185307179586f * u2);
}

/* Not the text of codegen/quotients.h: the definition, over the C library's exact remainder. The remainder of
 * f32 is rounded once, from f64, where its sum with the divisor is exact. */
double reference_remainder(double a, double b) {
  const double r = fmod(a, b);
  return r != 0 && signbit(r) != signbit(b) ? r + b : r;
}
float reference_remainder_f32(float a, float b) { return (float)reference_remainder((double)a, (double)b); }

double reference_floor_divide(double a, double b) {
  if (b == 0) return a / b;
  const double r = fmod(a, b), whole = (a - r) / b - (r != 0 && signbit(r) != signbit(b));
  if (whole == 0) return copysign(0, a / b);
  return floor(whole) + (whole - floor(whole) > 0.5);
}
float reference_floor_divide_f32(float a, float b) {
  if (b == 0) return a / b;
  const float r = fmodf(a, b), exact = (a - r) / b,
              whole = exact - (float)(r != 0 && signbit(r) != signbit(b));
  if (whole == 0) return copysignf(0, a / b);
  return floorf(whole) + (float)(whole - floorf(whole) > 0.5f);
}
