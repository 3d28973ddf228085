/* Between the files of eager reductions: reduce.c has rows and the operation, reduce_columns.c the columns.
 */
#ifndef TC_CPU_REDUCE_H
#define TC_CPU_REDUCE_H

#include "device/cpu/cpu.h"

/* A partial result: what the operation uses of it. */
struct acc {
  double number, distances;
  int64_t integer, index;
  bool empty;
}; /* distances: var, second pass */

struct reduction {
  const struct tc_cpu_kernels *kernels;
  tc_op op;
  tc_dtype dtype, out_dtype;
  const char *x;
  void *out;
  int64_t n_out, length, chunks; /* rows, their elements, and chunks of a row */
  double correction;
  double *centres; /* var: the mean of each row, else NULL */
  struct acc *partials;
  /* columns: */
  int64_t inner, blocks; /* x is [outer, length, inner] */
  double *sums;
};

/* -1 where the least is looked for, else 1. */
static inline int tc_reduce_sign(tc_op op) { return op == TC_OP_amin || op == TC_OP_argmin ? -1 : 1; }

/* --- reduce.c --- */
/* Adds the partial result b, of later elements, to a. */
void tc_reduce_join(const struct reduction *r, struct acc *a, const struct acc *b);
/* Writes element i of the result. */
void tc_reduce_finish(const struct reduction *r, int64_t i, const struct acc *a);

/* --- reduce_columns.c --- */
/* x is [outer, length, inner] and row-major. TC_NOMEM. */
tc_status tc_reduce_columns(struct tc_cpu *cpu, struct reduction *r, const struct tc_eager_call *call,
                            struct tc_error *err);

#endif
