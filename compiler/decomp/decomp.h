/* Decompositions: composite operations as primitive ones, written once against the builder.
 *
 * tc_decompose rewrites a captured graph so that it satisfies TC_SPEC_DECOMPOSED: no operation with a
 * decomposition rule is left, and no dead node. Threads: pure apart from the graph. */
#ifndef TC_DECOMP_DECOMP_H
#define TC_DECOMP_DECOMP_H

#include "base/config.h"
#include "ir/graph.h"

typedef struct tc_value *(*tc_decomp_rule)(struct tc_rule *r, int n_in, struct tc_value *const *in,
                                           const struct tc_attrs *attrs);
/* The rule of an operation; NULL when it is primitive. */
tc_decomp_rule tc_decomp_rule_of(tc_op op);
/* *out is a new graph in the same arena and with the same symbols. */
tc_status tc_decompose(struct tc_graph *g, const struct tc_config *config, struct tc_graph **out,
                       struct tc_error *err);

#endif
