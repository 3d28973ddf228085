/* The table of one instruction set. */
#include "device/cpu/kernels.h"

#include "device/cpu/isa.h"
#include "device/cpu/kernel_parts.h"

const struct tc_cpu_kernels TC_ISA_NAME(tc_cpu_kernels) = {
    .pointwise = K_pointwise,
    .cast = K_cast,
    .sum_f32 = K_sum_f32,
    .sum_f64 = K_sum_f64,
    .sum_squares_f32 = K_sum_squares_f32,
    .sum_squares_f64 = K_sum_squares_f64,
    .prod_f32 = K_prod_f32,
    .prod_f64 = K_prod_f64,
    .extreme_f32 = K_extreme_f32,
    .extreme_f64 = K_extreme_f64,
    .add_rows_f32 = K_add_rows_f32,
    .add_rows_f64 = K_add_rows_f64,
    .extreme_rows_f32 = K_extreme_rows_f32,
    .extreme_rows_f64 = K_extreme_rows_f64,
    .softmax_f32 = K_softmax_f32,
    .softmax_f64 = K_softmax_f64,
    .logsumexp_f32 = K_logsumexp_f32,
    .logsumexp_f64 = K_logsumexp_f64,
    .norm_f32 = K_norm_f32,
    .norm_f64 = K_norm_f64,
    .random = K_random,
};
