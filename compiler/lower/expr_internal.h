/* Private to lower/expr*.c and lower/rewrite.c: interning without folding, and the folding rules. */
#ifndef TC_LOWER_EXPR_INTERNAL_H
#define TC_LOWER_EXPR_INTERNAL_H

#include <math.h>

#include "base/fuel.h"
#include "lower/expr.h"

/* Is it this number? 0.0 and -0.0 are two. */
static inline bool tc_expr_is_num(const struct tc_expr *e, double value) {
  if (!e || e->op != TC_E_CONST) return false;
  return tc_dtype_is_float(e->dtype) ? e->number == value && !signbit(e->number) == !signbit(value)
                                     : e->integer == (int64_t)value;
}

/* The one node equal to *proto, as it stands. NULL when memory is out. */
const struct tc_expr *tc_expr_intern(struct tc_expr_table *table, const struct tc_expr *proto);
/* What *proto folds to, or NULL when it does not fold. `patterns`: NULL, or those to try instead of the code
 * made from rewrites.def. `fuel`: of the rewrites; NULL: unlimited. */
const struct tc_expr *tc_expr_fold(struct tc_expr_table *table, const struct tc_patterns *patterns,
                                   struct tc_fuel *fuel, const struct tc_expr *proto);
/* What rewrites.def makes of it, or NULL. */
const struct tc_expr *tc_rewrite(struct tc_expr_table *table, const struct tc_expr *e);
/* The same by patterns that were parsed. */
const struct tc_expr *tc_rewrite_by_patterns(struct tc_expr_table *table, const struct tc_patterns *patterns,
                                             const struct tc_expr *e);
/* Parses the text of rewrites.def; NULL when memory is out. */
const struct tc_patterns *tc_patterns_parse(struct tc_arena *arena);

#endif
