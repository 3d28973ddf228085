/* Inside of tune/. */
#ifndef TC_TUNE_INTERNAL_H
#define TC_TUNE_INTERNAL_H

#include "tune/tune.h"

/* extract.c. Graphs in arenas of their own, whose sizes are constants: their hints. NULL where they cannot be
 * made. */
struct tc_graph *tune_extract(struct tc_context *ctx, const struct tc_node *product); /* the product alone */
struct tc_graph *tune_copy(struct tc_context *ctx,
                           const struct tc_graph *g); /* all, with what was chosen of products */
/* Multiply-adds of the product, by hints. */
double tune_work(const struct tc_node *product);
/* Bytes from the first element to the last of all inputs of such a graph. */
double tune_span_of_all(const struct tc_graph *g);
double tune_span(const struct tc_node *input);

/* race.c */
struct tune_contender {
  struct tc_graph *graph;  /* given away; NULL: it could not be made */
  struct tc_config config; /* outlives what is compiled with it */
  struct tc_compiled *compiled;
  bool runs;
  double ns,
      second_ns; /* of a call: the two least of all rounds; INFINITY for one that cannot be compiled or run */
};
/* Compiles and times them. `work`: of a call, in multiply-adds. *believed: the least times are no accident.
 * False where memory is out. */
bool tune_race(struct tc_context *ctx, const struct tc_tuner *tuner, struct tune_contender *all, int n,
               double work, bool *believed);

#endif
