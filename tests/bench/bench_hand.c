#include "tests/bench/bench_hand.h"

#include "device/cpu/isa.h"
#include "device/cpu/vector_math.h"

enum { UNROLL = 4, STAGE = 1024 };

static inline void put(float *y, vf v, bool stream) {
  if (stream)
    vf_stream(y, v);
  else
    vf_store(y, v);
}

static inline __attribute__((always_inline)) void triad_loop(float *y, const float *a, const float *b,
                                                             int64_t n, bool stream) {
  const vf s = vf_set(1.7f);
  for (int64_t i = 0; i < n; i += UNROLL * VF_LANES)
    for (int u = 0; u < UNROLL * VF_LANES; u += VF_LANES)
      put(y + i + u, vf_fma(vf_load(b + i + u), s, vf_load(a + i + u)), stream);
}
static inline __attribute__((always_inline)) void copy_loop(float *y, const float *a, int64_t n,
                                                            bool stream) {
  for (int64_t i = 0; i < n; i += UNROLL * VF_LANES)
    for (int u = 0; u < UNROLL * VF_LANES; u += VF_LANES) put(y + i + u, vf_load(a + i + u), stream);
}
static inline vf gelu_of(vf x) {
  const vf gate = vf_add(vf_erf(vf_mul(x, vf_set(0.70710678118654752440f))), vf_set(1));
  return vf_mul(vf_mul(x, vf_set(0.5f)), gate);
}
static inline __attribute__((always_inline)) void gelu_loop(float *y, const float *x, float bias,
                                                            const float *r, int64_t n, bool stream) {
  const vf s = vf_set(1.7f), b = vf_set(bias);
  for (int64_t i = 0; i < n; i += 2 * VF_LANES) {
    const vf p = vf_add(vf_mul(vf_load(x + i), s), b), q = vf_add(vf_mul(vf_load(x + i + VF_LANES), s), b);
    put(y + i, vf_add(gelu_of(p), vf_load(r + i)), stream);
    put(y + i + VF_LANES, vf_add(gelu_of(q), vf_load(r + i + VF_LANES)), stream);
  }
}
static inline __attribute__((always_inline)) void chain_loop(float *y, const float *in, int64_t n,
                                                             bool stream) {
  for (int64_t i = 0; i < n; i += VF_LANES) {
    const vf x = vf_load(in + i);
    put(y + i, vf_mul(vf_mul(vf_mul(vf_mul(vf_sin(x), vf_cos(x)), vf_tan(x)), vf_exp(x)), vf_log(x)), stream);
  }
}

/* log(exp(tan(cos(sin x)))), a few vectors at a time. */
static inline __attribute__((always_inline)) void nested_loop(float *y, const float *in, int64_t n,
                                                              bool stream) {
  for (int64_t i = 0; i < n; i += UNROLL * VF_LANES) {
    vf x[UNROLL];
    for (int u = 0; u < UNROLL; u++) x[u] = vf_sin(vf_load(in + i + u * VF_LANES));
    for (int u = 0; u < UNROLL; u++) x[u] = vf_cos(x[u]);
    for (int u = 0; u < UNROLL; u++) x[u] = vf_tan(x[u]);
    for (int u = 0; u < UNROLL; u++) x[u] = vf_exp(x[u]);
    for (int u = 0; u < UNROLL; u++) put(y + i + u * VF_LANES, vf_log(x[u]), stream);
  }
}
/* The same in passes over a block that stays in the first cache. */
static inline __attribute__((always_inline)) void staged_loop(float *y, const float *in, int64_t n,
                                                              bool stream) {
  float block[STAGE] __attribute__((aligned(64)));
#define PASS(to, from, fn)                                                                                   \
  for (int64_t k = 0; k < STAGE; k += VF_LANES) vf_store((to) + k, fn(vf_load((from) + k)))
  for (int64_t i = 0; i < n; i += STAGE) {
    PASS(block, in + i, vf_sin);
    PASS(block, block, vf_cos);
    PASS(block, block, vf_tan);
    PASS(block, block, vf_exp);
    for (int64_t k = 0; k < STAGE; k += VF_LANES) put(y + i + k, vf_log(vf_load(block + k)), stream);
  }
#undef PASS
}
static inline __attribute__((always_inline)) void exp_loop(float *y, const float *x, int64_t n, bool stream) {
  for (int64_t i = 0; i < n; i += UNROLL * VF_LANES)
    for (int u = 0; u < UNROLL * VF_LANES; u += VF_LANES) put(y + i + u, vf_exp(vf_load(x + i + u)), stream);
}
static inline __attribute__((always_inline)) void affine_gelu_loop(float *y, const float *x,
                                                                   const float *scale, const float *shift,
                                                                   const float *r, int64_t n, bool stream) {
  for (int64_t i = 0; i < n; i += 2 * VF_LANES)
    for (int u = 0; u < 2 * VF_LANES; u += VF_LANES) {
      const vf v = vf_add(vf_mul(vf_load(x + i + u), vf_load(scale + i + u)), vf_load(shift + i + u));
      put(y + i + u, vf_add(gelu_of(v), vf_load(r + i + u)), stream);
    }
}
static inline __attribute__((always_inline)) void
broadcast_loop(float *y, const float *x, const float *column, float row, int64_t n, bool stream) {
  const vf r = vf_set(row), half = vf_set(0.5f), zero = vf_set(0);
  for (int64_t i = 0; i < n; i += UNROLL * VF_LANES)
    for (int u = 0; u < UNROLL * VF_LANES; u += VF_LANES) {
      const vf v = vf_load(x + i + u), sum = vf_add(vf_mul(v, vf_load(column + i + u)), r);
      put(y + i + u, vf_sub(vf_mul(vf_max(sum, zero), half), v), stream);
    }
}

#define BOTH(call_true, call_false)                                                                          \
  do {                                                                                                       \
    if (stream) {                                                                                            \
      call_true;                                                                                             \
      v_fence();                                                                                             \
    } else                                                                                                   \
      call_false;                                                                                            \
  } while (0)
static void triad(float *y, const float *a, const float *b, int64_t n, bool stream) {
  BOTH(triad_loop(y, a, b, n, true), triad_loop(y, a, b, n, false));
}
static void copy(float *y, const float *a, int64_t n, bool stream) {
  BOTH(copy_loop(y, a, n, true), copy_loop(y, a, n, false));
}
static void gelu(float *y, const float *x, float bias, const float *r, int64_t n, bool stream) {
  BOTH(gelu_loop(y, x, bias, r, n, true), gelu_loop(y, x, bias, r, n, false));
}
static void chain(float *y, const float *x, int64_t n, bool stream) {
  BOTH(chain_loop(y, x, n, true), chain_loop(y, x, n, false));
}

static void nested(float *y, const float *x, int64_t n, bool stream) {
  BOTH(nested_loop(y, x, n, true), nested_loop(y, x, n, false));
}
static void staged(float *y, const float *x, int64_t n, bool stream) {
  BOTH(staged_loop(y, x, n, true), staged_loop(y, x, n, false));
}
static void exponential(float *y, const float *x, int64_t n, bool stream) {
  BOTH(exp_loop(y, x, n, true), exp_loop(y, x, n, false));
}
static void affine_gelu(float *y, const float *x, const float *scale, const float *shift, const float *r,
                        int64_t n, bool stream) {
  BOTH(affine_gelu_loop(y, x, scale, shift, r, n, true), affine_gelu_loop(y, x, scale, shift, r, n, false));
}
static void broadcast(float *y, const float *x, const float *column, float row, int64_t n, bool stream) {
  BOTH(broadcast_loop(y, x, column, row, n, true), broadcast_loop(y, x, column, row, n, false));
}

static float lanes_max(vf v) {
  float all[VF_LANES];
  vf_store(all, v);
  float m = all[0];
  for (int i = 1; i < VF_LANES; i++) m = all[i] > m ? all[i] : m;
  return m;
}

static void softmax(float *y, const float *x, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; r++, x += n, y += n) {
    vf m[UNROLL], s[UNROLL];
    for (int u = 0; u < UNROLL; u++) m[u] = vf_load(x + u * VF_LANES), s[u] = vf_set(0);
    for (int64_t i = UNROLL * VF_LANES; i < n; i += UNROLL * VF_LANES)
      for (int u = 0; u < UNROLL; u++) m[u] = vf_max(vf_load(x + i + u * VF_LANES), m[u]);
    const vf max = vf_set(lanes_max(vf_max(vf_max(m[0], m[1]), vf_max(m[2], m[3]))));
    for (int64_t i = 0; i < n; i += 2 * VF_LANES)
      for (int u = 0; u < 2; u++) {
        const vf e = vf_exp(vf_sub(vf_load(x + i + u * VF_LANES), max));
        vf_store(y + i + u * VF_LANES, e);
        s[u] = vf_add(s[u], e);
      }
    const vf scale = vf_set(vf_hsum(vf_add(s[0], s[1])));
    for (int64_t i = 0; i < n; i += VF_LANES) vf_store(y + i, vf_div(vf_load(y + i), scale));
  }
}

static inline __attribute__((always_inline)) void
norm_rows(float *y, const float *x, const float *w, const float *b, int64_t rows, int64_t n, bool stream) {
  for (int64_t r = 0; r < rows; r++, x += n, y += n) {
    vf s[UNROLL], q[UNROLL];
    for (int u = 0; u < UNROLL; u++) s[u] = q[u] = vf_set(0);
    for (int64_t i = 0; i < n; i += UNROLL * VF_LANES)
      for (int u = 0; u < UNROLL; u++) s[u] = vf_add(s[u], vf_load(x + i + u * VF_LANES));
    const vf mean = vf_set(vf_hsum(vf_add(vf_add(s[0], s[1]), vf_add(s[2], s[3]))) / (float)n);
    for (int64_t i = 0; i < n; i += UNROLL * VF_LANES)
      for (int u = 0; u < UNROLL; u++) {
        const vf d = vf_sub(vf_load(x + i + u * VF_LANES), mean);
        q[u] = vf_fma(d, d, q[u]);
      }
    const float variance = vf_hsum(vf_add(vf_add(q[0], q[1]), vf_add(q[2], q[3]))) / (float)n;
    const vf scale = vf_rsqrt(vf_set(variance + 1e-5f));
    for (int64_t i = 0; i < n; i += VF_LANES)
      put(y + i, vf_fma(vf_mul(vf_sub(vf_load(x + i), mean), scale), vf_load(w + i), vf_load(b + i)), stream);
  }
}
static void norm(float *y, const float *x, const float *w, const float *b, int64_t rows, int64_t n,
                 bool stream) {
  BOTH(norm_rows(y, x, w, b, rows, n, true), norm_rows(y, x, w, b, rows, n, false));
}

static void entropy(float *y, const float *x, int64_t rows, int64_t n) {
  float e[STAGE] __attribute__((aligned(64)));
  for (int64_t r = 0; r < rows; r++, x += n) {
    vf m[UNROLL], s[UNROLL];
    for (int u = 0; u < UNROLL; u++) m[u] = vf_load(x + u * VF_LANES), s[u] = vf_set(0);
    for (int64_t i = UNROLL * VF_LANES; i < n; i += UNROLL * VF_LANES)
      for (int u = 0; u < UNROLL; u++) m[u] = vf_max(vf_load(x + i + u * VF_LANES), m[u]);
    const vf max = vf_set(lanes_max(vf_max(vf_max(m[0], m[1]), vf_max(m[2], m[3]))));
    for (int64_t i = 0; i < n; i += UNROLL * VF_LANES)
      for (int u = 0; u < UNROLL; u++) {
        const vf v = vf_exp(vf_sub(vf_load(x + i + u * VF_LANES), max));
        vf_store(e + i + u * VF_LANES, v);
        s[u] = vf_add(s[u], v);
      }
    const vf scale = vf_set(1 / vf_hsum(vf_add(vf_add(s[0], s[1]), vf_add(s[2], s[3]))));
    for (int u = 0; u < UNROLL; u++) s[u] = vf_set(0);
    for (int64_t i = 0; i < n; i += UNROLL * VF_LANES)
      for (int u = 0; u < UNROLL; u++) {
        const vf p = vf_mul(vf_load(e + i + u * VF_LANES), scale);
        s[u] = vf_fma(p, vf_log(vf_add(p, vf_set(1e-9f))), s[u]);
      }
    y[r] = -vf_hsum(vf_add(vf_add(s[0], s[1]), vf_add(s[2], s[3])));
  }
}

/* The gradient's size at VF_LANES points, whose upper left neighbours are at x. */
static inline vf sobel_of(const float *x, int64_t w) {
  const vf two = vf_set(2), a = vf_load(x), b = vf_load(x + 1), c = vf_load(x + 2), d = vf_load(x + w),
           f = vf_load(x + w + 2);
  const vf g = vf_load(x + 2 * w), h = vf_load(x + 2 * w + 1), i = vf_load(x + 2 * w + 2);
  const vf gx = vf_sub(vf_add(vf_fma(two, vf_sub(f, d), vf_sub(c, a)), i), g),
           gy = vf_sub(vf_add(vf_fma(two, vf_sub(h, b), vf_sub(g, a)), i), c);
  return vf_sqrt(vf_fma(gx, gx, vf_fma(gy, gy, vf_set(1e-12f))));
}
static void sobel(float *y, const float *x, int64_t h, int64_t w) {
  const int64_t n = w - 2; /* at least a vector: the last one of a row overlaps the one before */
  for (int64_t r = 0; r < h - 2; r++, x += w, y += n) {
    for (int64_t i = 0; i + VF_LANES <= n; i += VF_LANES) vf_store(y + i, sobel_of(x + i, w));
    vf_store(y + n - VF_LANES, sobel_of(x + n - VF_LANES, w));
  }
}

const struct bench_hand TC_ISA_NAME(bench_hand) = {triad,       copy,    gelu,   chain,       softmax,
                                                   norm,        nested,  staged, affine_gelu, broadcast,
                                                   exponential, entropy, sobel};
