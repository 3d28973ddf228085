/* Casts between any two dtypes, over contiguous elements. Compiled for each instruction set.
 *
 * Float to integer truncates; what does not fit becomes the smallest integer, as the machine's conversion has
 * it. Anything to bool: is it other than 0 (NaN is). f64 and i64 go to bf16 through f32. */
#include <immintrin.h>
#include <string.h>

#include "device/cpu/kernel_parts.h"
#include "device/cpu/vector.h"

typedef uint8_t bool_t;
typedef int64_t i64_t;
typedef uint16_t bf16_t;
typedef float f32_t;
typedef double f64_t;

static inline double read_bool(bool_t x) { return x != 0; }
static inline int64_t integer_f32(float x) { return _mm_cvttss_si64(_mm_set_ss(x)); }
static inline int64_t integer_f64(double x) { return _mm_cvttsd_si64(_mm_set_sd(x)); }

/* convert_FROM_TO */
#define CONVERT(from, to, expression)                                                                        \
  static inline to##_t convert_##from##_##to(from##_t x) { return expression; }
CONVERT(bool, i64, x != 0)
CONVERT(bool, bf16, tc_f32_to_bf16((float)read_bool(x)))
CONVERT(bool, f32, (float)read_bool(x))
CONVERT(bool, f64, read_bool(x))
CONVERT(i64, bool, x != 0)
CONVERT(i64, bf16, tc_f32_to_bf16((float)x))
CONVERT(i64, f32, (float)x)
CONVERT(i64, f64, (double)x)
CONVERT(bf16, bool, tc_bf16_to_f32(x) != 0)
CONVERT(bf16, i64, integer_f32(tc_bf16_to_f32(x)))
CONVERT(bf16, f64, tc_bf16_to_f32(x))
CONVERT(f32, bool, x != 0)
CONVERT(f32, i64, integer_f32(x))
CONVERT(f32, f64, x)
CONVERT(f64, bool, x != 0)
CONVERT(f64, i64, integer_f64(x))
CONVERT(f64, bf16, tc_f32_to_bf16((float)x))
CONVERT(f64, f32, (float)x)

#define KERNEL(from, to, how)                                                                                \
  static void from##_to_##to(void *out, const void *const *in, int64_t n, bool stream) {                     \
    const from##_t *restrict x = in[0];                                                                      \
    to##_t *restrict y = out;                                                                                \
    (void)stream;                                                                                            \
    how for (int64_t i = 0; i < n; i++) y[i] = convert_##from##_##to(x[i]);                                  \
  }
#define VECTORS    _Pragma("omp simd")
#define ONE_BY_ONE /* the conversion is an instruction on scalars */
KERNEL(bool, i64, VECTORS)
KERNEL(i64, bool, VECTORS)
KERNEL(bool, bf16, VECTORS)
KERNEL(bf16, bool, VECTORS)
KERNEL(bool, f32, VECTORS)
KERNEL(f32, bool, VECTORS)
KERNEL(bool, f64, VECTORS)
KERNEL(f64, bool, VECTORS)
KERNEL(f32, f64, VECTORS)
KERNEL(f64, f32, VECTORS)
KERNEL(bf16, f64, VECTORS)
KERNEL(f64, bf16, VECTORS)
KERNEL(i64, bf16, VECTORS)
KERNEL(i64, f32, VECTORS)
KERNEL(i64, f64, VECTORS)
KERNEL(bf16, i64, ONE_BY_ONE)
KERNEL(f32, i64, ONE_BY_ONE)
KERNEL(f64, i64, ONE_BY_ONE)

static void bf16_to_f32(void *out, const void *const *in, int64_t n, bool stream) {
  const uint16_t *x = in[0];
  float *y = out;
  int64_t i = 0;
  (void)stream;
  for (; i + VF_LANES <= n; i += VF_LANES) vf_store(y + i, vf_load_bf16(x + i));
  for (; i < n; i++) y[i] = tc_bf16_to_f32(x[i]);
}
static void f32_to_bf16(void *out, const void *const *in, int64_t n, bool stream) {
  const float *x = in[0];
  uint16_t *y = out;
  int64_t i = 0;
  (void)stream;
  for (; i + VF_LANES <= n; i += VF_LANES) vf_store_bf16(y + i, vf_load(x + i));
  for (; i < n; i++) y[i] = tc_f32_to_bf16(x[i]);
}

/* Same dtype: bytes are moved. */
#define MOVE(bytes)                                                                                          \
  static void move##bytes(void *out, const void *const *in, int64_t n, bool stream) {                        \
    char *y = out;                                                                                           \
    const char *x = in[0];                                                                                   \
    const int64_t total = n * bytes;                                                                         \
    int64_t i = 0;                                                                                           \
    if (stream) {                                                                                            \
      for (; i + V_BYTES <= total; i += V_BYTES)                                                             \
        vf_stream((float *)(void *)(y + i), vf_load((const float *)(const void *)(x + i)));                  \
      v_fence();                                                                                             \
    }                                                                                                        \
    memcpy(y + i, x + i, (size_t)(total - i));                                                               \
  }
MOVE(1)
MOVE(2)
MOVE(4)
MOVE(8)

static const tc_cpu_block_fn kernels[TC_DTYPE_COUNT][TC_DTYPE_COUNT] = {
    [TC_BOOL] = {[TC_BOOL] = move1,
                 [TC_I64] = bool_to_i64,
                 [TC_BF16] = bool_to_bf16,
                 [TC_F32] = bool_to_f32,
                 [TC_F64] = bool_to_f64},
    [TC_I64] = {[TC_BOOL] = i64_to_bool,
                [TC_I64] = move8,
                [TC_BF16] = i64_to_bf16,
                [TC_F32] = i64_to_f32,
                [TC_F64] = i64_to_f64},
    [TC_BF16] = {[TC_BOOL] = bf16_to_bool,
                 [TC_I64] = bf16_to_i64,
                 [TC_BF16] = move2,
                 [TC_F32] = bf16_to_f32,
                 [TC_F64] = bf16_to_f64},
    [TC_F32] = {[TC_BOOL] = f32_to_bool,
                [TC_I64] = f32_to_i64,
                [TC_BF16] = f32_to_bf16,
                [TC_F32] = move4,
                [TC_F64] = f32_to_f64},
    [TC_F64] = {[TC_BOOL] = f64_to_bool,
                [TC_I64] = f64_to_i64,
                [TC_BF16] = f64_to_bf16,
                [TC_F32] = f64_to_f32,
                [TC_F64] = move8},
};

tc_cpu_block_fn K_cast(tc_dtype from, tc_dtype to) { return kernels[from][to]; }
