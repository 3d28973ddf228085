/* Private to codegen/null: one value of an expression, and its operators. */
#ifndef TC_CODEGEN_NULL_INTERNAL_H
#define TC_CODEGEN_NULL_INTERNAL_H

#include "sched/kernel.h"

/* A value: f where the dtype is a float, else i (BOOL: 0 or 1). */
struct null_value {
  double f;
  int64_t i;
};

struct null_value null_number(tc_dtype dtype, double value); /* rounded to the dtype */
struct null_value null_integer(int64_t value);
struct null_value null_cast(struct null_value v, tc_dtype from, tc_dtype to);
/* Operators of one to three operands; `from` is the dtype of the first. */
struct null_value null_apply(const struct tc_expr *e, const struct null_value *args);
/* Philox: see device/cpu and codegen/llvm. */
struct null_value null_random(const struct tc_expr *e, const uint64_t *rng, int64_t element);

struct null_value null_read(tc_dtype dtype, const void *buffer, int64_t element);
void null_write(tc_dtype dtype, void *buffer, int64_t element, tc_dtype from, struct null_value value);

/* Reductions: start, and one more value at a position. `count` is 0 for the first. */
struct null_value null_reduce_start(enum tc_reduction op, tc_dtype dtype);
struct null_state {
  struct null_value value;
  int64_t position;
  bool any;
};
void null_reduce(enum tc_reduction op, tc_dtype dtype, struct null_state *state, struct null_value value,
                 int64_t position);

#endif
