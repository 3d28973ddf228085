/* What the files compiled once for each instruction set export: loops over contiguous elements, without
 * threads, strides or checks. The rest of device/cpu/ brings operands into this form. */
#ifndef TC_DEVICE_CPU_KERNELS_H
#define TC_DEVICE_CPU_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "ops/op.h"

/* out[0..n) from the operands' [0..n). `stream`: non-temporal stores; `out` is then 64-byte aligned. */
typedef void (*tc_cpu_block_fn)(void *out, const void *const *in, int64_t n, bool stream);
/* Normalisation of one row of n contiguous elements; weight and bias may be NULL and have the row's dtype. */
struct tc_cpu_norm {
  const void *weight, *bias;
  double eps;
  bool centre;
};

struct tc_cpu_kernels {
  /* By the dtype of the last operand; NULL: the operation does not take it. */
  tc_cpu_block_fn (*pointwise)(tc_op op, tc_dtype dtype);
  tc_cpu_block_fn (*cast)(tc_dtype from, tc_dtype to);

  /* Sum of x, of (x - centre)² (and of x - centre, unless NULL), and product, over f32 or f64. */
  double (*sum_f32)(const float *x, int64_t n);
  double (*sum_f64)(const double *x, int64_t n);
  double (*sum_squares_f32)(const float *x, int64_t n, double centre, double *distances);
  double (*sum_squares_f64)(const double *x, int64_t n, double centre, double *distances);
  double (*prod_f32)(const float *x, int64_t n);
  double (*prod_f64)(const double *x, int64_t n);
  /* The largest (sign 1) or smallest (sign -1) element, NaN if there is one; n > 0. */
  float (*extreme_f32)(const float *x, int64_t n, int sign);
  double (*extreme_f64)(const double *x, int64_t n, int sign);
  /* acc[j] = acc[j] op x[j], for reductions over outer dimensions. */
  void (*add_rows_f32)(float *acc, const float *x, int64_t n);
  void (*add_rows_f64)(double *acc, const double *x, int64_t n);
  void (*extreme_rows_f32)(float *acc, const float *x, int64_t n, int sign);
  void (*extreme_rows_f64)(double *acc, const double *x, int64_t n, int sign);

  /* One row: out may be x. log: log_softmax. */
  void (*softmax_f32)(float *out, const float *x, int64_t n, bool log);
  void (*softmax_f64)(double *out, const double *x, int64_t n, bool log);
  double (*logsumexp_f32)(const float *x, int64_t n);
  double (*logsumexp_f64)(const double *x, int64_t n);
  void (*norm_f32)(float *out, const float *x, int64_t n, const struct tc_cpu_norm *norm);
  void (*norm_f64)(double *out, const double *x, int64_t n, const struct tc_cpu_norm *norm);

  /* Numbers of elements [first, first + n) of one draw; `first` is a multiple of TC_CPU_BLOCK. */
  void (*random)(float *out, uint64_t first, int64_t n, uint64_t seed, uint64_t draw, bool normal);
};

extern const struct tc_cpu_kernels tc_cpu_kernels_avx2, tc_cpu_kernels_avx512;

#endif
