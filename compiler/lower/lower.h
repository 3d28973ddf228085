/* Lowering: a decomposed graph becomes loops.
 *
 * Each node becomes a tc_loop (or, if it is a view, an index map that its users look through):
 *   INPUT      memory given by the caller
 *   POINTWISE  value at (i0 … in-1) is an expression
 *   REDUCTION  value at (i0 … in-1) is the reduction of an expression over inner indices
 *   GEMM       a library call on views of other loops
 * In an expression LOAD names a loop by `buffer`, and addresses it by the *index tuple* kept in
 * tc_load_index (one tc_sym a dimension), so that the scheduler can substitute one loop into another. */
#ifndef TC_LOWER_LOWER_H
#define TC_LOWER_LOWER_H

#include "base/config.h"
#include "ir/graph.h"
#include "lower/expr.h"

struct tc_loops; /* opaque outside lower/ and sched/: see lower/loops.h */

/* `g` satisfies TC_SPEC_DECOMPOSED. Everything is in g's arena. */
tc_status tc_lower(struct tc_graph *g, const struct tc_config *config, struct tc_loops **out,
                   struct tc_error *err);
void tc_loops_print(struct tc_strbuf *out, const struct tc_loops *loops);

/* Specification of lowered loops: see verify.c. */
tc_status tc_loops_verify(const struct tc_loops *loops, struct tc_error *err);

#endif
