/* Equality of kernels, private to sched/: what equal hashes are checked with. */
#ifndef TC_SCHED_KERNEL_EQUAL_H
#define TC_SCHED_KERNEL_EQUAL_H

#include "sched/kernel.h"

/* Both kernels come from one scheduling (they share index variables). seen[] has room for n_exprs. */
bool tc_kernel_equal(const struct tc_kernel *a, const struct tc_kernel *b, unsigned char *seen);

#endif
