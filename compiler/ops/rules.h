/* The rules behind tc_op_infer: private to ops/. ops.def names a shape rule and a dtype rule for each
 * operation; `RULE` there is the function tc_shape_RULE or tc_dtype_RULE here.
 *
 * A rule reads the call and writes its part of `out` (sizes and ndim, or dtype). It must accept
 * anything (graph text is parsed into calls), check what it reads, and not allocate or print on the
 * good path. tc_op_infer has checked the operand count before. */
#ifndef TC_OPS_RULES_H
#define TC_OPS_RULES_H

#include "ops/op.h"

struct tc_infer {
  struct tc_symtab *tab;
  tc_op op;
  int n_in;
  const struct tc_meta *const *in;
  const struct tc_attrs *attrs;
  struct tc_meta *out;
  struct tc_error *err;
};
typedef tc_status (*tc_infer_rule)(const struct tc_infer *c);

/* "matmul: [2, 3] and [4, 5]: ", then the message. */
tc_status tc_infer_fail(const struct tc_infer *c, tc_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with dtypes instead of shapes: "add: f32 and i64: …". */
tc_status tc_infer_fail_dtype(const struct tc_infer *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* clang-format off */
#define TC_INFER_RULES_SHAPE(X)                                                                              \
  X(input)                                                                                                   \
  X(full)                                                                                                    \
  X(arange) X(random) X(same) X(along) X(dims) X(diagonal) X(broadcast) X(reduce) X(norm) X(matmul)          \
      X(linear) X(sdpa) X(view) X(expand) X(permute) X(slice) X(squeeze) X(unsqueeze) X(pad) X(cat)          \
          X(embedding) X(gather) X(index_select) X(copy_)
/* clang-format on */
/* clang-format off */
#define TC_INFER_RULES_DTYPE(X)                                                                              \
  X(input) X(attr0) X(number) X(real) X(boolean) X(where) X(sum) X(index) X(same) X(first) X(embedding)
/* clang-format on */

#define TC_DECLARE(name) tc_status tc_shape_##name(const struct tc_infer *c);
TC_INFER_RULES_SHAPE(TC_DECLARE)
#undef TC_DECLARE
#define TC_DECLARE(name) tc_status tc_dtype_##name(const struct tc_infer *c);
TC_INFER_RULES_DTYPE(TC_DECLARE)
#undef TC_DECLARE

/* What several shape rules share. */

/* An attribute that must be a constant dimension, 0 ≤ dim < limit. */
tc_status tc_infer_dim(const struct tc_infer *c, int attr, int limit, int *dim);
/* Is the size this number? Of symbols it is decided. */
static inline bool tc_size_is(const struct tc_infer *c, tc_sym size, int64_t number) {
  return tc_sym_is_const(size) ? tc_sym_value(size) == number
                               : tc_sym_decide_eq(c->tab, size, tc_sym_const(number));
}
/* The broadcast of two sizes; INVALID when they do not fit. */
tc_sym tc_broadcast_size(struct tc_symtab *tab, tc_sym a, tc_sym b);
/* Broadcasts the first `count` sizes of `from` into the first *ndim of `sizes`, aligned at the right. */
bool tc_broadcast_into(struct tc_symtab *tab, const tc_sym *from, int count, tc_sym *sizes, int *ndim);
/* Every size is valid and (if a constant) not negative; the product fits. */
tc_status tc_infer_check_sizes(const struct tc_infer *c);

#endif
