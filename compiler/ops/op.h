/* Operations: the rows of ops.def, their rules, and the eager registry.
 *
 * A call names an operation, its operands' metas and its attributes. Rules work on tc_sym, so one
 * text serves eager dispatch (immediate constants, no table) and graphs. Threads: pure functions. */
#ifndef TC_OPS_OP_H
#define TC_OPS_OP_H

#include "base/error.h"
#include "base/limits.h"
#include "sym/sym.h"
#include "tensor/dtype.h"
#include "tensor/tensor.h"

typedef enum tc_op {
#define TC_OP(name, arity, shape, dtype, eager, vjp, decomp, lower, KIND) TC_OP_##name,
#include "ops/ops.def"
#undef TC_OP
  TC_OP_COUNT
} tc_op;

enum tc_op_kind {
  TC_KIND_INPUT,
  TC_KIND_CREATE,
  TC_KIND_RANDOM,
  TC_KIND_POINTWISE,
  TC_KIND_REDUCTION,
  TC_KIND_VIEW,
  TC_KIND_COPY,
  TC_KIND_GATHER,
  TC_KIND_MATMUL,
  TC_KIND_COMPOSITE,
  TC_KIND_MUTATE
};

enum { TC_VARIADIC = -1 };

struct tc_op_row {
  const char *name;
  int arity;
  enum tc_op_kind kind;
};
const struct tc_op_row *tc_op_row(tc_op op);
int tc_op_find(const char *name); /* tc_op, or -1 */

/* Dtype, symbolic shape and device of a value. */
struct tc_meta {
  tc_dtype dtype;
  int ndim;
  const struct tc_device *device; /* NULL: not said, as in a graph that was read */
  tc_sym sizes[TC_MAX_DIMS];
};

struct tc_attrs {
  const tc_sym *ints;
  int n_ints;
  const double *nums;
  int n_nums;
};
/* Attribute as an integer; it must be a constant (eager calls have only constants). */
static inline int64_t tc_attr_int(const struct tc_attrs *a, int i) { return tc_sym_value(a->ints[i]); }

/* Applies the shape and the dtype rule of `op`. Errors name the operation and the shapes
 * ("matmul: [2, 3] and [4, 5]: the inner sizes 3 and 4 differ"), or the devices where operands lie on two.
 * The result is on that of the operands. `tab` may be NULL for constants. */
tc_status tc_op_infer(struct tc_symtab *tab, tc_op op, int n_in, const struct tc_meta *const *in,
                      const struct tc_attrs *attrs, struct tc_meta *out, struct tc_error *err);

tc_sym tc_meta_numel(struct tc_symtab *tab, const struct tc_meta *meta);
void tc_meta_of_tensor(const struct tc_tensor *tensor, struct tc_meta *meta);
/* "[2, 3] f32", appended. */
void tc_meta_print(struct tc_strbuf *out, const struct tc_meta *meta);

/* Views of concrete tensors. TC_SHAPE when `view` cannot be expressed with strides. *out shares storage. */
tc_status tc_view_of(tc_op op, const struct tc_tensor *x, const struct tc_attrs *attrs,
                     const struct tc_meta *meta, struct tc_tensor *out, struct tc_error *err);

/* The failure of floor_divide and remainder where an integer is divided by 0, the same from eager and from
 * compiled kernels. */
tc_status tc_division_by_zero(tc_op op, struct tc_error *err);

/* An eager kernel: writes *out, which is allocated with the inferred meta (contiguous), from the
 * operands (any strides, 0 included). Random kernels draw from `rng` position `draw`. */
struct tc_eager_call {
  tc_op op;
  int n_in;
  const struct tc_tensor *const *in;
  const struct tc_attrs *attrs;
  struct tc_tensor *out;
  uint64_t seed, draw; /* RANDOM: the generator's seed, and the number of this draw */
};
typedef tc_status (*tc_eager_fn)(struct tc_device *device, const struct tc_eager_call *call,
                                 struct tc_error *err);

#endif
