/* One call of a tensor function: what its implementation reads. Private to ops/.
 *
 * Implementations (tc_fn_*) return their result, or NULL: after a failure (c->r.status), or when they
 * filled c->results themselves. The getters below record the first failure and give a harmless value,
 * so that an implementation reads its arguments and checks c->r.status once before it decides on
 * them. Emitting after a failure does nothing. Argument numbers count from 0, as in `args`. */
#ifndef TC_OPS_CALL_H
#define TC_OPS_CALL_H

#include "ops/function.h"

enum { TC_OP_NONE = TC_OP_COUNT };

struct tc_call {
  struct tc_rule r;
  const struct tc_function *f;
  tc_op op; /* of the row; TC_OP_NONE */
  const struct tc_arg *args;
  struct tc_results *results;
};
typedef struct tc_value *(*tc_fn)(struct tc_call *c);

#define TC_FN(name, method, function, functional, list, implementation, op, signature, help)                 \
  struct tc_value *tc_fn_##implementation(struct tc_call *c);
#include "ops/functions.def"
#undef TC_FN

/* Records "name: message" unless something failed before; returns NULL. */
void *tc_call_fail(struct tc_call *c, tc_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Name of a parameter in the signature, for messages: print with "%.*s". */
struct tc_param_name {
  const char *text;
  int length;
};
struct tc_param_name tc_call_param(const struct tc_call *c, int arg);
/* Records "name: argument 2 (dim) must be …, got a string". */
void *tc_call_bad_arg(struct tc_call *c, int arg, const char *wanted);

static inline bool tc_call_given(const struct tc_call *c, int arg) { return c->args[arg].kind != TC_ARG_NIL; }
static inline struct tc_symtab *tc_call_tab(const struct tc_call *c) { return c->r.b->tab; }

struct tc_value *tc_call_tensor(struct tc_call *c, int arg);   /* must be a tensor */
struct tc_value *tc_call_optional(struct tc_call *c, int arg); /* a tensor, or NULL for nil */
bool tc_call_bool(struct tc_call *c, int arg, bool otherwise);
double tc_call_number(struct tc_call *c, int arg, double otherwise);
const char *tc_call_text(struct tc_call *c, int arg, const char *otherwise);
tc_dtype tc_call_dtype(struct tc_call *c, int arg, tc_dtype otherwise);
tc_sym tc_call_sym(struct tc_call *c, int arg); /* an integer that may be symbolic */
/* As tc_call_sym, of a bound that may lie far outside: it is cut to TC_CALL_FAR, beyond all sizes, whose sums
 * stay symbols. */
#define TC_CALL_FAR ((int64_t)1 << 59)
tc_sym tc_call_bound(struct tc_call *c, int arg);

/* An integer that each call has another value of. */
static inline bool tc_call_is_symbol(const struct tc_arg *arg) {
  return arg->kind == TC_ARG_INT && !tc_sym_is_const(arg->integer);
}
/* The value of a symbol, for what needs a number: the hint, which becomes a guard. */
int64_t tc_call_constant(struct tc_call *c, tc_sym s);

/* Dimension 1…ndim or -1…-ndim → 0…ndim-1 (a 0-dimensional tensor takes 1 and -1, giving 0). */
int tc_call_dim(struct tc_call *c, int arg, int ndim, int otherwise);
/* One dimension or a list; nil or an empty list: all. Gives the count; none twice. */
int tc_call_dims(struct tc_call *c, int arg, int ndim, int dims[TC_MAX_DIMS]);
/* One integer or a list, as they are. Gives the count. */
int tc_call_ints(struct tc_call *c, int arg, int limit, tc_sym *ints);
/* Index from 1 or from the end → from 0, checked against the size. */
tc_sym tc_call_index(struct tc_call *c, tc_sym index, tc_sym size, int dim);

/* Checks that the argument is a list of one or more tensors. Gives the count. */
int tc_call_tensors(struct tc_call *c, int arg);
/* Appends to c->results. */
void tc_call_push(struct tc_call *c, struct tc_value *value);
/* "[2, 3] f32" of a value, for messages; `text` has room for TC_SHAPE_TEXT. */
enum { TC_SHAPE_TEXT = 160 };
const char *tc_call_shape(struct tc_call *c, struct tc_value *value, char *text);

/* Operands of promotion: tensors, or numbers. */
struct tc_operand {
  struct tc_value *value; /* NULL: the number `scalar` */
  const struct tc_arg *scalar;
  struct tc_meta meta; /* of the value */
};
/* Fills *operand; false (recorded) if the argument is neither a tensor nor a number nor a bool. */
bool tc_call_operand(struct tc_call *c, int arg, struct tc_operand *operand);
/* The result type of operands noted one after the other; starts as TC_PROMOTION. */
struct tc_promotion {
  int with_dims, without_dims, scalars;
};
#define TC_PROMOTION ((struct tc_promotion){TC_DTYPE_COUNT, TC_DTYPE_COUNT, TC_DTYPE_COUNT})
void tc_promote(const struct tc_builder *b, struct tc_promotion *p, const struct tc_operand *operand);
tc_dtype tc_promoted(const struct tc_promotion *p);
/* PyTorch's result type: tensors with dimensions outrank 0-dimensional ones, which outrank numbers,
 * within one category (bool < integer < float). */
tc_dtype tc_result_type(const struct tc_builder *b, int count, const struct tc_operand *operands);
/* The operand in a dtype: a cast, or a 0-dimensional constant. */
struct tc_value *tc_call_as(struct tc_call *c, const struct tc_operand *operand, tc_dtype dtype);
/* A tensor of one number. */
struct tc_value *tc_call_full(struct tc_call *c, const struct tc_arg *value, tc_dtype dtype, int ndim,
                              const tc_sym *sizes);
/* A number argument as a 0-dimensional constant of the dtype. */
struct tc_value *tc_call_scalar(struct tc_call *c, const struct tc_arg *arg, tc_dtype dtype);
/* A number (or bool) argument as a real number. */
double tc_call_real(struct tc_call *c, const struct tc_arg *arg);
/* bool and integers → the default dtype. */
static inline tc_dtype tc_float_dtype(const struct tc_builder *b, tc_dtype dtype) {
  return tc_dtype_is_float(dtype) ? dtype : b->default_dtype;
}

/* What several files emit. Sizes and dims as ops.def has them (from 0). */
struct tc_value *tc_call_emit_ints(struct tc_call *c, tc_op op, struct tc_value *x, int n,
                                   const tc_sym *ints);
struct tc_value *tc_call_slice(struct tc_call *c, struct tc_value *x, int dim, tc_sym start, tc_sym length,
                               tc_sym step);
struct tc_value *tc_call_reshape(struct tc_call *c, struct tc_value *x, int ndim, const tc_sym *sizes);
/* The product of two tensors by the rules of matmul (vectors, matrices, batches). */
struct tc_value *tc_call_matmul(struct tc_call *c, struct tc_value *x, struct tc_value *y);
struct tc_value *tc_call_transpose(struct tc_call *c, struct tc_value *x, int dim0, int dim1);
/* x with elements zeroed with probability p and the rest scaled. */
struct tc_value *tc_call_dropout(struct tc_call *c, struct tc_value *x, double p);

#endif
