/* Declarations that the files of one instruction set share, decorated (isa.h). */
#ifndef TC_DEVICE_CPU_KERNEL_PARTS_H
#define TC_DEVICE_CPU_KERNEL_PARTS_H

#include "device/cpu/isa.h"
#include "device/cpu/kernels.h"

#define K_pointwise        TC_ISA_NAME(tc_cpu_pointwise)
#define K_pointwise_float  TC_ISA_NAME(tc_cpu_pointwise_float)
#define K_pointwise_word   TC_ISA_NAME(tc_cpu_pointwise_word)
#define K_cast             TC_ISA_NAME(tc_cpu_cast)
#define K_random           TC_ISA_NAME(tc_cpu_random)
#define K_sum_f32          TC_ISA_NAME(tc_cpu_sum_f32)
#define K_sum_f64          TC_ISA_NAME(tc_cpu_sum_f64)
#define K_sum_squares_f32  TC_ISA_NAME(tc_cpu_sum_squares_f32)
#define K_sum_squares_f64  TC_ISA_NAME(tc_cpu_sum_squares_f64)
#define K_prod_f32         TC_ISA_NAME(tc_cpu_prod_f32)
#define K_prod_f64         TC_ISA_NAME(tc_cpu_prod_f64)
#define K_extreme_f32      TC_ISA_NAME(tc_cpu_extreme_f32)
#define K_extreme_f64      TC_ISA_NAME(tc_cpu_extreme_f64)
#define K_add_rows_f32     TC_ISA_NAME(tc_cpu_add_rows_f32)
#define K_add_rows_f64     TC_ISA_NAME(tc_cpu_add_rows_f64)
#define K_extreme_rows_f32 TC_ISA_NAME(tc_cpu_extreme_rows_f32)
#define K_extreme_rows_f64 TC_ISA_NAME(tc_cpu_extreme_rows_f64)
#define K_softmax_f32      TC_ISA_NAME(tc_cpu_softmax_f32)
#define K_softmax_f64      TC_ISA_NAME(tc_cpu_softmax_f64)
#define K_logsumexp_f32    TC_ISA_NAME(tc_cpu_logsumexp_f32)
#define K_logsumexp_f64    TC_ISA_NAME(tc_cpu_logsumexp_f64)
#define K_norm_f32         TC_ISA_NAME(tc_cpu_norm_f32)
#define K_norm_f64         TC_ISA_NAME(tc_cpu_norm_f64)

/* The kernel of an operation on f32, f64 or bf16; on i64, bool, or of any dtype that is merely moved. */
tc_cpu_block_fn K_pointwise_float(tc_op op, tc_dtype dtype);
tc_cpu_block_fn K_pointwise_word(tc_op op, tc_dtype dtype);
tc_cpu_block_fn K_pointwise(tc_op op, tc_dtype dtype);
tc_cpu_block_fn K_cast(tc_dtype from, tc_dtype to);
void K_random(float *out, uint64_t first, int64_t n, uint64_t seed, uint64_t draw, bool normal);

double K_sum_f32(const float *x, int64_t n);
double K_sum_f64(const double *x, int64_t n);
double K_sum_squares_f32(const float *x, int64_t n, double centre, double *distances);
double K_sum_squares_f64(const double *x, int64_t n, double centre, double *distances);
double K_prod_f32(const float *x, int64_t n);
double K_prod_f64(const double *x, int64_t n);
float K_extreme_f32(const float *x, int64_t n, int sign);
double K_extreme_f64(const double *x, int64_t n, int sign);
void K_add_rows_f32(float *acc, const float *x, int64_t n);
void K_add_rows_f64(double *acc, const double *x, int64_t n);
void K_extreme_rows_f32(float *acc, const float *x, int64_t n, int sign);
void K_extreme_rows_f64(double *acc, const double *x, int64_t n, int sign);
void K_softmax_f32(float *out, const float *x, int64_t n, bool log);
void K_softmax_f64(double *out, const double *x, int64_t n, bool log);
double K_logsumexp_f32(const float *x, int64_t n);
double K_logsumexp_f64(const double *x, int64_t n);
void K_norm_f32(float *out, const float *x, int64_t n, const struct tc_cpu_norm *norm);
void K_norm_f64(double *out, const double *x, int64_t n, const struct tc_cpu_norm *norm);

#endif
