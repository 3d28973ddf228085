/* What a kernel means: a plain interpreter of struct tc_kernel, one lane at a time. The oracle for code
 * generators.
 *
 * Arithmetic is in each expression's compute dtype with one rounding an operation, and transcendental
 * functions are the shared polynomials over C floats, so generated code must agree bit for bit. Sums and
 * products run in index order in f64 and are rounded at the end: there, compare with a tolerance. */
#ifndef TESTS_KERNEL_REFERENCE_H
#define TESTS_KERNEL_REFERENCE_H

#include "sched/kernel.h"

void reference_run(const struct tc_kernel *k, void *const *buffers, const int64_t *sizes, int64_t first,
                   int64_t last);
/* Items of the kernel at these sizes. */
int64_t reference_items(const struct tc_kernel *k, const int64_t *sizes);

#endif
