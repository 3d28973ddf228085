/* The builder: what tensor functions, decompositions and vjp rules are written against. The eager
 * builder executes each operation, the graph builder records it; so one text serves both.
 *
 * A tc_value is the builder's own: a tensor (eager) or a node (graph). It lives as long as the
 * builder, unless the builder's owner takes it. Threads: one at a time. */
#ifndef TC_OPS_BUILDER_H
#define TC_OPS_BUILDER_H

#include "ops/op.h"

struct tc_value;
struct tc_builder;

struct tc_builder_methods {
  tc_status (*emit)(struct tc_builder *b, tc_op op, int n_in, struct tc_value *const *in,
                    const struct tc_attrs *attrs, struct tc_value **out, struct tc_error *err);
  void (*meta)(struct tc_builder *b, const struct tc_value *value, struct tc_meta *out);
  /* Is the value known to be stored row by row without gaps? NULL: not known, and `contiguous` copies. */
  bool (*is_contiguous)(struct tc_builder *b, const struct tc_value *value);
  /* What is made without operands from now on is made on the device of this name. NULL, as the next: the
   * builder has one device. */
  tc_status (*use_device)(struct tc_builder *b, const char *name, struct tc_error *err);
  /* The value on the device in use. */
  tc_status (*move)(struct tc_builder *b, struct tc_value *x, struct tc_value **out, struct tc_error *err);
};

struct tc_builder {
  const struct tc_builder_methods *methods;
  struct tc_symtab *tab;  /* NULL when eager */
  tc_dtype default_dtype; /* of creation functions and of float results of integers: TC_F32 unless changed */
  const struct tc_device *device; /* of values that are made without operands; NULL: the CPU */
};

static inline tc_status tc_emit(struct tc_builder *b, tc_op op, int n_in, struct tc_value *const *in,
                                const struct tc_attrs *attrs, struct tc_value **out, struct tc_error *err) {
  return b->methods->emit(b, op, n_in, in, attrs, out, err);
}
static inline void tc_value_meta(struct tc_builder *b, const struct tc_value *value, struct tc_meta *out) {
  b->methods->meta(b, value, out);
}

/* Short forms for rules. Each returns NULL after a failure and passes NULL operands on, with the
 * first error kept in r->err and r->status: a rule is written as an expression and checked once. */
struct tc_rule {
  struct tc_builder *b;
  tc_status status;
  struct tc_error *err;
};
struct tc_value *tc_r1(struct tc_rule *r, tc_op op, struct tc_value *x);
struct tc_value *tc_r2(struct tc_rule *r, tc_op op, struct tc_value *x, struct tc_value *y);
struct tc_value *tc_r3(struct tc_rule *r, tc_op op, struct tc_value *x, struct tc_value *y,
                       struct tc_value *z);
/* Any operation, with attributes. */
struct tc_value *tc_rn(struct tc_rule *r, tc_op op, int n_in, struct tc_value *const *in,
                       const struct tc_attrs *attrs);
/* 0-dimensional constant of a dtype. */
struct tc_value *tc_r_scalar(struct tc_rule *r, tc_dtype dtype, double value);
struct tc_value *tc_r_cast(struct tc_rule *r, struct tc_value *x,
                           tc_dtype dtype); /* x itself when it has the dtype */
/* Reduction over dims[0..n), 0-based. */
struct tc_value *tc_r_reduce(struct tc_rule *r, tc_op op, struct tc_value *x, int n_dims, const int *dims,
                             bool keepdim);
struct tc_meta tc_r_meta(struct tc_rule *r, struct tc_value *x); /* zeroed after a failure */

#endif
