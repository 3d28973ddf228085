/* Pointwise kernels of i64 and bool, and of selection, which moves elements of any dtype. Compiled for each
 * instruction set; the compiler vectorises these loops.
 *
 * Integers wrap. Division rounds towards minus infinity and never traps: by zero it gives 0, and so does the
 * remainder (the operation then fails: pointwise.c). */
#include <string.h>

#include "device/cpu/kernel_parts.h"

typedef uint64_t word; /* arithmetic that may wrap is done unsigned */

static inline int64_t i64_op_neg(int64_t x) { return (int64_t)(0 - (word)x); }
static inline int64_t i64_op_abs(int64_t x) { return x < 0 ? i64_op_neg(x) : x; }
static inline int64_t i64_op_sign(int64_t x) { return (x > 0) - (x < 0); }
static inline int64_t i64_op_floor(int64_t x) { return x; }
static inline int64_t i64_op_ceil(int64_t x) { return x; }
static inline int64_t i64_op_relu(int64_t x) { return x > 0 ? x : 0; }
static inline int64_t i64_op_add(int64_t a, int64_t b) { return (int64_t)((word)a + (word)b); }
static inline int64_t i64_op_sub(int64_t a, int64_t b) { return (int64_t)((word)a - (word)b); }
static inline int64_t i64_op_mul(int64_t a, int64_t b) { return (int64_t)((word)a * (word)b); }
static inline int64_t i64_op_floor_divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return i64_op_neg(a);
  const int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t i64_op_remainder(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
/* By squaring. A negative exponent: the exact power, rounded to 0 unless the base is 1 or -1. */
static inline int64_t i64_op_pow(int64_t a, int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
  word result = 1, base = (word)a;
  for (; b; b >>= 1, base *= base)
    if (b & 1) result *= base;
  return (int64_t)result;
}
static inline int64_t i64_op_maximum(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t i64_op_minimum(int64_t a, int64_t b) { return a < b ? a : b; }

#define SAME(op, expression)                                                                                 \
  static inline bool op_##op(int64_t a, int64_t b) { return expression; }
SAME(eq, a == b)
SAME(ne, a != b)
SAME(lt, a < b)
SAME(le, a <= b)
SAME(gt, a > b)
SAME(ge, a >= b)
SAME(logical_and, (a != 0) & (b != 0))
SAME(logical_or, (a != 0) | (b != 0))
SAME(logical_xor, (a != 0) != (b != 0))
static inline bool op_isnan(int64_t a) { return (void)a, false; }
static inline bool op_isinf(int64_t a) { return (void)a, false; }
static inline bool op_logical_not(int64_t a) { return a == 0; }

#define UNARY(X)     X(neg) X(abs) X(sign) X(floor) X(ceil) X(relu)
#define BINARY(X)    X(add) X(sub) X(mul) X(maximum) X(minimum)
#define BRANCHING(X) X(floor_divide) X(remainder) X(pow) /* no vector form */
#define TEST(X)      X(isnan) X(isinf) X(logical_not)
#define COMPARE(X)   X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(logical_and) X(logical_or) X(logical_xor)

#define KERNEL1(prefix, name, T, Y, f)                                                                       \
  static void prefix##_##name(void *out, const void *const *in, int64_t n, bool stream) {                    \
    const T *restrict a = in[0];                                                                             \
    Y *restrict y = out;                                                                                     \
    (void)stream;                                                                                            \
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) y[i] = f(a[i]);                                      \
  }
#define KERNEL2(prefix, name, T, Y, f, how)                                                                  \
  static void prefix##_##name(void *out, const void *const *in, int64_t n, bool stream) {                    \
    const T *restrict a = in[0], *restrict b = in[1];                                                        \
    Y *restrict y = out;                                                                                     \
    (void)stream;                                                                                            \
    how for (int64_t i = 0; i < n; i++) y[i] = f(a[i], b[i]);                                                \
  }
#define VECTORS _Pragma("omp simd")
#define ONE_BY_ONE
#define X(name) KERNEL1(i64, name, int64_t, int64_t, i64_op_##name)
UNARY(X)
#undef X
#define X(name) KERNEL2(i64, name, int64_t, int64_t, i64_op_##name, VECTORS)
BINARY(X)
#undef X
#define X(name) KERNEL2(i64, name, int64_t, int64_t, i64_op_##name, ONE_BY_ONE)
BRANCHING(X)
#undef X
#define X(name)                                                                                              \
  KERNEL1(i64, name, int64_t, uint8_t, op_##name) KERNEL1(bool, name, uint8_t, uint8_t, op_##name)
TEST(X)
#undef X
#define X(name)                                                                                              \
  KERNEL2(i64, name, int64_t, uint8_t, op_##name, VECTORS)                                                   \
  KERNEL2(bool, name, uint8_t, uint8_t, op_##name, VECTORS)
COMPARE(X)
#undef X

#define SELECT(T)                                                                                            \
  static void where_##T(void *out, const void *const *in, int64_t n, bool stream) {                          \
    const uint8_t *restrict c = in[0];                                                                       \
    const T *restrict a = in[1], *restrict b = in[2];                                                        \
    T *restrict y = out;                                                                                     \
    (void)stream;                                                                                            \
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) y[i] = c[i] ? a[i] : b[i];                           \
  }
SELECT(uint8_t)
SELECT(uint16_t)
SELECT(uint32_t)
SELECT(uint64_t)

#define X(name) [TC_OP_##name] = {[TC_I64] = i64_##name},
#define Y(name) [TC_OP_##name] = {[TC_I64] = i64_##name, [TC_BOOL] = bool_##name},
static const tc_cpu_block_fn kernels[TC_OP_COUNT][TC_DTYPE_COUNT] = {
    UNARY(X) BINARY(X) BRANCHING(X) TEST(Y) COMPARE(Y)[TC_OP_where] = {[TC_BOOL] = where_uint8_t,
                                                                       [TC_BF16] = where_uint16_t,
                                                                       [TC_F32] = where_uint32_t,
                                                                       [TC_F64] = where_uint64_t,
                                                                       [TC_I64] = where_uint64_t},
};
#undef X
#undef Y

tc_cpu_block_fn K_pointwise_word(tc_op op, tc_dtype dtype) { return kernels[op][dtype]; }

tc_cpu_block_fn K_pointwise(tc_op op, tc_dtype dtype) {
  const tc_cpu_block_fn fn = K_pointwise_float(op, dtype);
  return fn ? fn : K_pointwise_word(op, dtype);
}
