/* Private to lower/expr*.c: interning without folding, and the folding rules. */
#ifndef TC_LOWER_EXPR_INTERNAL_H
#define TC_LOWER_EXPR_INTERNAL_H

#include "lower/expr.h"

/* The one node equal to *proto, as it stands. NULL when memory is out. */
const struct tc_expr *tc_expr_intern(struct tc_expr_table *table, const struct tc_expr *proto);
/* What *proto folds to, or NULL when it does not fold. */
const struct tc_expr *tc_expr_fold(struct tc_expr_table *table, const struct tc_expr *proto);

#endif
