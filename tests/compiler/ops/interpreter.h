/* A plain interpreter of graphs in double precision: the oracle for rewrites of graphs. It knows the
 * primitive operations (TC_SPEC_DECOMPOSED, without random ones), constant sizes only. A cast to f32 or
 * bf16 rounds; everything else is computed as it is written, one element at a time. */
#ifndef TESTS_OPS_INTERPRETER_H
#define TESTS_OPS_INTERPRETER_H

#include "ir/graph.h"

struct numbers {
  int ndim;
  int64_t sizes[TC_MAX_DIMS];
  int64_t count;
  double *data;
};

/* Row-major and allocated with malloc; numbers_free frees. */
struct numbers numbers_new(const struct tc_meta *meta);
void numbers_free(struct numbers *n);

/* Values of the graph's first output. inputs[i] is of graph input i. Exits the test through cmocka's fail_msg
 * on an operation that it does not know. */
struct numbers interpret(const struct tc_graph *g, const struct numbers *inputs);

#endif
