/* Transcendental functions as kernels mean them: codegen/polynomials.h, one value at a time. An F32 argument
 * and result is held in a double. */
#ifndef TESTS_REFERENCE_MATH_H
#define TESTS_REFERENCE_MATH_H

#include "lower/expr.h"

double reference_function(enum tc_expr_op op, tc_dtype dtype, double a); /* EXP … ERF, RSQRT */
double reference_power(tc_dtype dtype, double a, double b);
float reference_normal(float u1, float u2); /* u1 in (0, 1], u2 in [0, 1) */

/* PyTorch's. */
double reference_remainder(double a, double b);
float reference_remainder_f32(float a, float b);
double reference_floor_divide(double a, double b);
float reference_floor_divide_f32(float a, float b);

#endif
