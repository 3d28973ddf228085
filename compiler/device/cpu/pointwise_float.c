/* Pointwise kernels of f32, f64 and bf16 (computed in f32). Compiled for each instruction set.
 *
 * Every operation of float_ops.h is made into three loops by the lists below. A new operation: its vector
 * function in float_ops.h and one word in UNARY, BINARY, TEST or COMPARE. */
#include <string.h>

#include "device/cpu/kernel_parts.h"
#include "device/cpu/vector_math.h"

#define V        vf
#define M        mf
#define V_(name) vf_##name
#include "device/cpu/float_ops.h"
#undef V
#undef M
#undef V_
#define V        vd
#define M        md
#define V_(name) vd_##name
#include "device/cpu/float_ops.h"
#undef V
#undef M
#undef V_

/* clang-format off */
#define UNARY(X)                                                                                             \
  X(neg)                                                                                                     \
  X(abs)                                                                                                     \
  X(sign) X(floor) X(ceil) X(reciprocal) X(sqrt) X(rsqrt) X(exp) X(log) X(log1p) X(sin) X(cos) X(tan)        \
      X(tanh) X(sigmoid) X(erf) X(relu) X(gelu) X(gelu_tanh) X(silu) X(softplus)
/* clang-format on */
#define BINARY(X)  X(add) X(sub) X(mul) X(div) X(floor_divide) X(remainder) X(pow) X(maximum) X(minimum)
#define TEST(X)    X(isnan) X(isinf) X(logical_not)
#define COMPARE(X) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(logical_and) X(logical_or) X(logical_xor)

/* How the lanes of a dtype are reached: scalar in memory, vector, lanes, load, store, stream, and those of a
 * short rest. */
static inline vf bf16_load_n(const uint16_t *p, int64_t n) {
  uint16_t whole[VF_LANES] = {0};
  memcpy(whole, p, (size_t)n * sizeof *p);
  return vf_load_bf16(whole);
}
static inline void bf16_store_n(uint16_t *p, vf a, int64_t n) {
  uint16_t whole[VF_LANES];
  vf_store_bf16(whole, a);
  memcpy(p, whole, (size_t)n * sizeof *p);
}
static inline void mf_store_n(uint8_t *p, mf m, int64_t n) {
  uint8_t whole[VF_LANES];
  mf_store_bytes(whole, m);
  memcpy(p, whole, (size_t)n);
}
static inline void md_store_n(uint8_t *p, md m, int64_t n) {
  uint8_t whole[VD_LANES];
  md_store_bytes(whole, m);
  memcpy(p, whole, (size_t)n);
}

/* LOOP runs `body` on x (and y) for every whole vector, then on the rest. bf16 streams by plain stores: half
 * a line at a time. */
#define LOOP1(T, lanes, V, load, load_n, store, stream_store, store_n, f)                                    \
  const T *a = in[0];                                                                                        \
  int64_t i = 0;                                                                                             \
  if (stream) {                                                                                              \
    for (; i + lanes <= n; i += lanes) stream_store(y + i, f(load(a + i)));                                  \
    v_fence();                                                                                               \
  } else {                                                                                                   \
    for (; i + lanes <= n; i += lanes) store(y + i, f(load(a + i)));                                         \
  }                                                                                                          \
  if (i < n) store_n(y + i, f(load_n(a + i, n - i)), n - i);
#define LOOP2(T, lanes, V, load, load_n, store, stream_store, store_n, f)                                    \
  const T *a = in[0], *b = in[1];                                                                            \
  int64_t i = 0;                                                                                             \
  if (stream) {                                                                                              \
    for (; i + lanes <= n; i += lanes) stream_store(y + i, f(load(a + i), load(b + i)));                     \
    v_fence();                                                                                               \
  } else {                                                                                                   \
    for (; i + lanes <= n; i += lanes) store(y + i, f(load(a + i), load(b + i)));                            \
  }                                                                                                          \
  if (i < n) store_n(y + i, f(load_n(a + i, n - i), load_n(b + i, n - i)), n - i);

#define KERNEL(dtype, name, Y, LOOP, ...)                                                                    \
  static void dtype##_##name(void *out, const void *const *in, int64_t n, bool stream) {                     \
    Y *y = out;                                                                                              \
    (void)stream;                                                                                            \
    LOOP(__VA_ARGS__)                                                                                        \
  }
#define NUMBERS(LOOP, name)                                                                                  \
  KERNEL(f32, name, float, LOOP, float, VF_LANES, vf, vf_load, vf_load_n, vf_store, vf_stream, vf_store_n,   \
         vf_op_##name)                                                                                       \
  KERNEL(f64, name, double, LOOP, double, VD_LANES, vd, vd_load, vd_load_n, vd_store, vd_stream, vd_store_n, \
         vd_op_##name)                                                                                       \
  KERNEL(bf16, name, uint16_t, LOOP, uint16_t, VF_LANES, vf, vf_load_bf16, bf16_load_n, vf_store_bf16,       \
         vf_store_bf16, bf16_store_n, vf_op_##name)
#define TRUTHS(LOOP, name)                                                                                   \
  KERNEL(f32, name, uint8_t, LOOP, float, VF_LANES, vf, vf_load, vf_load_n, mf_store_bytes, mf_store_bytes,  \
         mf_store_n, vf_op_##name)                                                                           \
  KERNEL(f64, name, uint8_t, LOOP, double, VD_LANES, vd, vd_load, vd_load_n, md_store_bytes, md_store_bytes, \
         md_store_n, vd_op_##name)                                                                           \
  KERNEL(bf16, name, uint8_t, LOOP, uint16_t, VF_LANES, vf, vf_load_bf16, bf16_load_n, mf_store_bytes,       \
         mf_store_bytes, mf_store_n, vf_op_##name)

#define X(name) NUMBERS(LOOP1, name)
UNARY(X)
#undef X
#define X(name) NUMBERS(LOOP2, name)
BINARY(X)
#undef X
#define X(name) TRUTHS(LOOP1, name)
TEST(X)
#undef X
#define X(name) TRUTHS(LOOP2, name)
COMPARE(X)
#undef X

/* By op; f32, f64, bf16 are at their dtype's place. */
#define X(name) [TC_OP_##name] = {[TC_F32] = f32_##name, [TC_F64] = f64_##name, [TC_BF16] = bf16_##name},
static const tc_cpu_block_fn kernels[TC_OP_COUNT][TC_DTYPE_COUNT] = {UNARY(X) BINARY(X) TEST(X) COMPARE(X)};
#undef X

tc_cpu_block_fn K_pointwise_float(tc_op op, tc_dtype dtype) { return kernels[op][dtype]; }
