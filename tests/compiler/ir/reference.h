/* A reference for graphs: each node of a decomposed graph by itself, in doubles and int64, over dense
 * arrays, written for plainness; constant sizes only. Random numbers follow Philox 4x32-10 as everywhere. An
 * operation that it does not know fails the test. */
#ifndef TESTS_IR_REFERENCE_H
#define TESTS_IR_REFERENCE_H

#include "ir/graph.h"

/* Row-major; floats are in f, integers and truth values in i. */
struct ref_value {
  tc_dtype dtype;
  int ndim;
  int64_t sizes[TC_MAX_DIMS], numel;
  double *f;
  int64_t *i;
};
struct ref_inputs {
  void *const *data; /* as the inputs' dtypes and strides say */
  uint64_t seed, draw;
  bool bad_index;
};

/* Values of all nodes, in order: freed by ref_free_all. */
struct ref_value *ref_evaluate(const struct tc_graph *g, struct ref_inputs *inputs);
void ref_free_all(struct ref_value *values, size_t count);

/* The element as a number, whatever the dtype. */
double ref_real(const struct ref_value *v, int64_t at);
/* The index of element `flat`. */
void ref_unravel(const struct ref_value *v, int64_t flat, int64_t *at);

#endif
