/* Which way each matrix product of a graph is computed: as the switch `matmul` says, or (search) the fastest
 * of those that are tried.
 *
 * A search takes a product out of its graph, with the views of its operands and with the sizes of the call
 * that is captured, compiles it in each way of products.def, and times them in turn. The winner is kept by
 * the product's own cache key (with the number of threads, and the library as it was found at run time), in
 * memory and on disk, so that no other graph or process measures it again; the artifact holds what was
 * chosen. Where times mean nothing (instructions are counted: ctx->watch) the same work is done, the guess
 * wins, and nothing is kept. A search never fails a compile: what cannot be tried, for want of memory too, is
 * the library's. */
#ifndef TC_TUNE_TUNE_H
#define TC_TUNE_TUNE_H

#include "base/context.h"
#include "ir/graph.h"

struct tc_compiled;

/* How the search compiles `graph` (it takes over its arena) with these switches, which outlive what comes
 * out. */
struct tc_tuner {
  void *self;
  tc_status (*compile)(void *self, struct tc_graph *graph, const struct tc_config *config,
                       struct tc_compiled **out, struct tc_error *err);
  int abi; /* part of the key of what is kept */
};

/* Sets `product` of each matmul of the decomposed graph. */
void tc_tune(struct tc_context *ctx, struct tc_graph *g, const struct tc_tuner *tuner);

#endif
