/* What the tests of eager kernels share: a device for each instruction set of the machine, random tensors of
 * odd layouts, and comparison with references computed in double. */
#ifndef TESTS_OPS_EAGER_H
#define TESTS_OPS_EAGER_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/context.h"
#include "device/device.h"
#include "device/eager.h"
#include "tensor/host.h"

enum { EAGER_ISAS = 2, EAGER_THREADS = 2 };
static const char *const eager_isas[EAGER_ISAS] = {"avx2", "avx512"};

/* --- random numbers of the tests --- */

static uint64_t eager_state = 0x9E3779B97F4A7C15u;
static inline uint64_t eager_random(void) {
  eager_state ^= eager_state << 13;
  eager_state ^= eager_state >> 7;
  eager_state ^= eager_state << 17;
  return eager_state;
}
static inline int64_t eager_below(int64_t n) { return (int64_t)(eager_random() % (uint64_t)n); }
static inline double eager_uniform(double low, double high) {
  return low + (high - low) * (double)(eager_random() >> 11) * 0x1p-53;
}

/* --- devices --- */

struct eager {
  struct tc_device *cpu; /* ctx.device, or what does its work */
  struct tc_context ctx;
  struct tc_error err;
};

/* False where the machine lacks the instruction set. */
static inline bool eager_open(struct eager *e, int isa) {
  memset(e, 0, sizeof *e);
  e->ctx.alloc = tc_alloc_system();
  e->ctx.rng.seed = 1;
  const tc_status status = tc_device_cpu_open(e->ctx.alloc, eager_isas[isa], EAGER_THREADS, &e->cpu, &e->err);
  if (status == TC_UNSUPPORTED) return false;
  assert_int_equal(status, TC_OK);
  assert_int_equal(tc_device_of_tests(e->ctx.alloc, e->cpu, &e->ctx.device, &e->err), TC_OK);
  return true;
}
static inline void eager_close(struct eager *e) {
  assert_true(e->ctx.device->bytes_live == 0);
  e->ctx.device->methods->close(e->ctx.device);
  if (e->cpu && e->cpu != e->ctx.device) e->cpu->methods->close(e->cpu);
}
/* Runs `body` on each device. */
#define ON_EACH_ISA(e, ...)                                                                                  \
  for (int isa_ = 0; isa_ < EAGER_ISAS; isa_++) {                                                            \
    struct eager e;                                                                                          \
    if (!eager_open(&e, isa_)) continue;                                                                     \
    __VA_ARGS__                                                                                              \
    eager_close(&e);                                                                                         \
  }

static inline void eager_run(struct eager *e, tc_op op, int n_in, const struct tc_tensor *const *in,
                             const struct tc_attrs *attrs, struct tc_tensor *out) {
  const struct tc_attrs none = {0};
  const tc_status status = tc_eager_run(&e->ctx, op, n_in, in, attrs ? attrs : &none, out, &e->err);
  if (status) print_error("%s: %s\n", tc_op_row(op)->name, e->err.message);
  assert_int_equal(status, TC_OK);
}

/* --- tensors --- */

static inline struct tc_tensor eager_new(struct eager *e, tc_dtype dtype, int ndim, const int64_t *sizes) {
  struct tc_tensor t;
  assert_int_equal(tc_tensor_new(e->ctx.device, dtype, ndim, sizes, &t, &e->err), TC_OK);
  return t;
}

/* A view of `sizes` in a random layout: permuted, with gaps, or expanded along some dimensions. */
static inline struct tc_tensor eager_layout(struct eager *e, tc_dtype dtype, int ndim, const int64_t *sizes,
                                            bool expand) {
  int order[TC_MAX_DIMS];
  int64_t base[TC_MAX_DIMS] = {0}, step[TC_MAX_DIMS], stride = 1;
  for (int d = 0; d < ndim; d++) order[d] = d;
  if (eager_below(2))
    for (int d = ndim - 1; d > 0; d--) {
      const int other = (int)eager_below(d + 1), held = order[d];
      order[d] = order[other], order[other] = held;
    }
  const bool gaps = eager_below(3) == 0;
  for (int d = 0; d < ndim; d++) {
    step[d] = gaps ? 1 + eager_below(3) : 1;
    base[d] = sizes[d] * step[d] + (gaps ? eager_below(3) : 0);
    if (expand && eager_below(4) == 0) base[d] = 1, step[d] = 0;
  }
  struct tc_tensor t = eager_new(e, dtype, ndim, base);
  for (int i = ndim - 1; i >= 0; i--) {
    const int d = order[i];
    t.strides[d] = stride * step[d];
    stride *= base[d] > 0 ? base[d] : 1;
  }
  memcpy(t.sizes, sizes, (size_t)ndim * sizeof *sizes);
  return t;
}

static inline void eager_fill(const struct tc_tensor *t, double low, double high) {
  const int64_t n = tc_tensor_numel(t);
  for (int64_t i = 0; i < n; i++) {
    double value = eager_uniform(low, high);
    if (t->dtype == TC_BOOL) value = eager_below(2);
    if (t->dtype == TC_I64) value = floor(value);
    tc_tensor_set_f64(t, i, value);
  }
}

static inline struct tc_tensor eager_tensor(struct eager *e, tc_dtype dtype, int ndim, const int64_t *sizes,
                                            double low, double high) {
  struct tc_tensor t = eager_layout(e, dtype, ndim, sizes, false);
  eager_fill(&t, low, high);
  return t;
}

/* Random rank and sizes, small ones, sometimes empty. */
static inline int eager_shape(int64_t *sizes, int max_dims, int64_t max_size) {
  const int ndim = (int)eager_below(max_dims + 1);
  for (int d = 0; d < ndim; d++) sizes[d] = eager_below(12) == 0 ? 0 : 1 + eager_below(max_size);
  return ndim;
}

/* --- comparison --- */

static inline double eager_epsilon(tc_dtype dtype) {
  switch (dtype) {
    case TC_BF16: return 0x1p-7;
    case TC_F32: return 0x1p-23;
    case TC_F64: return 0x1p-52;
    default: return 0;
  }
}

/* |got - want| within ulps·epsilon·|want| + floor; NaN equals NaN, infinities equal, overflow rounds as it
 * must. */
static inline bool eager_close_to(tc_dtype dtype, double got, double want, double ulps, double floor_error) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (isinf(want) || isinf(got)) {
    const double largest = dtype == TC_F64 ? 1.7976931348623157e308 : 3.4028234663852886e38;
    return got == want || (fabs(want) >= largest * (1 - 0x1p-7) && fabs(got) >= largest * (1 - 0x1p-7) &&
                           (got > 0) == (want > 0));
  }
  const double smallest = dtype == TC_F64    ? 0x1p-1074
                          : dtype == TC_F32  ? 0x1p-149
                          : dtype == TC_BF16 ? 0x1p-133
                                             : 0;
  return fabs(got - want) <= ulps * (eager_epsilon(dtype) * fabs(want) + smallest) + floor_error;
}

/* Row-major flat index of `index` in `from` → flat index in an operand that is broadcast to it. */
static inline int64_t eager_broadcast_index(const struct tc_tensor *out, const struct tc_tensor *in,
                                            int64_t index) {
  int64_t at = 0, scale = 1;
  for (int d = out->ndim - 1; d >= 0; d--) {
    const int64_t here = index % out->sizes[d];
    const int own = d - (out->ndim - in->ndim);
    index /= out->sizes[d];
    if (own < 0) continue;
    if (in->sizes[own] != 1) at += here * scale;
    scale *= in->sizes[own];
  }
  return at;
}

#endif
