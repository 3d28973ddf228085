/* The shape rules of ops.def for creation, pointwise operations, reductions and normalisation, and
 * what all shape rules share. Sizes are symbolic: two sizes are compared by tc_sym_decide_eq, which
 * answers for constants and records a fact (later a guard) for symbols. */
#include <string.h>

#include "ops/rules.h"

/* ---- shared ---- */

tc_status tc_infer_dim(const struct tc_infer *c, int attr, int limit, int *dim) {
  if (attr >= c->attrs->n_ints || !tc_sym_is_const(c->attrs->ints[attr]))
    return tc_infer_fail(c, TC_ARG, "a dimension is missing");
  const int64_t value = tc_attr_int(c->attrs, attr);
  if (value < 0 || value >= limit)
    return tc_infer_fail(c, TC_SHAPE, "dimension %lld does not exist; there are %d", (long long)value + 1,
                         limit);
  *dim = (int)value;
  return TC_OK;
}

tc_sym tc_broadcast_size(struct tc_symtab *tab, tc_sym a, tc_sym b) {
  if (tc_sym_same(a, b)) return a;
  if (tc_sym_is(a, 1)) return b;
  if (tc_sym_is(b, 1)) return a;
  if (tc_sym_is_const(a) && tc_sym_is_const(b)) return TC_SYM_INVALID;
  if (!tc_sym_valid(a) || !tc_sym_valid(b)) return TC_SYM_INVALID;
  if (tc_sym_decide_eq(tab, a, b)) return tc_sym_is_const(b) ? b : a;
  const tc_sym one = tc_sym_const(1);
  if (tc_sym_decide_eq(tab, a, one)) return b;
  if (tc_sym_decide_eq(tab, b, one)) return a;
  return TC_SYM_INVALID;
}

bool tc_broadcast_into(struct tc_symtab *tab, const tc_sym *from, int count, tc_sym *sizes, int *ndim) {
  const int have = *ndim;
  if (count > have) {
    memmove(sizes + (count - have), sizes, (size_t)have * sizeof *sizes);
    memcpy(sizes, from, (size_t)(count - have) * sizeof *sizes);
    from += count - have;
    sizes += count - have;
    *ndim = count;
    count = have;
  } else {
    sizes += have - count;
  }
  for (int d = 0; d < count; d++) {
    sizes[d] = tc_broadcast_size(tab, sizes[d], from[d]);
    if (!tc_sym_valid(sizes[d])) return false;
  }
  return true;
}

tc_status tc_infer_check_sizes(const struct tc_infer *c) {
  tc_sym count = tc_sym_const(1);
  for (int d = 0; d < c->out->ndim; d++) {
    const tc_sym size = c->out->sizes[d];
    if (!tc_sym_valid(size)) return tc_infer_fail(c, TC_LIMIT, "size %d of the result is too large", d + 1);
    if (tc_sym_is_const(size) ? tc_sym_value(size) < 0 : tc_sym_decide_lt(c->tab, size, tc_sym_const(0)))
      return tc_infer_fail(c, TC_SHAPE, "size %d of the result would be %lld", d + 1,
                           (long long)tc_sym_hint(size));
    count = tc_sym_mul(c->tab, count, size);
  }
  if (!tc_sym_valid(count)) return tc_infer_fail(c, TC_LIMIT, "the result would have too many elements");
  return TC_OK;
}

static void copy_shape(struct tc_meta *out, const struct tc_meta *from) {
  out->ndim = from->ndim;
  for (int d = 0; d < from->ndim; d++) out->sizes[d] = from->sizes[d];
}

/* ---- creation ---- */

/* The sizes are the attributes from number `first` on. */
static tc_status sizes_from_attrs(const struct tc_infer *c, int first) {
  const int count = c->attrs->n_ints - first;
  if (count < 0) return tc_infer_fail(c, TC_ARG, "attributes are missing");
  if (count > TC_MAX_DIMS)
    return tc_infer_fail(c, TC_LIMIT, "%d dimensions, at most %d are supported", count, TC_MAX_DIMS);
  c->out->ndim = count;
  for (int d = 0; d < count; d++) c->out->sizes[d] = c->attrs->ints[first + d];
  return tc_infer_check_sizes(c);
}

tc_status tc_shape_input(const struct tc_infer *c) { return tc_dtype_input(c); }

tc_status tc_shape_full(const struct tc_infer *c) {
  if (c->attrs->n_nums < 1) return tc_infer_fail(c, TC_ARG, "the value is missing");
  return sizes_from_attrs(c, 2);
}

tc_status tc_shape_arange(const struct tc_infer *c) {
  if (c->attrs->n_ints != 2 || c->attrs->n_nums != 2)
    return tc_infer_fail(c, TC_ARG, "takes dtype and count, start and step");
  return sizes_from_attrs(c, 1);
}

tc_status tc_shape_random(const struct tc_infer *c) {
  if (!tc_dtype_is_float(c->out->dtype))
    return tc_infer_fail(c, TC_DTYPE, "%s: takes a floating-point dtype", tc_dtype_name(c->out->dtype));
  return sizes_from_attrs(c, 1);
}

/* ---- pointwise ---- */

tc_status tc_shape_same(const struct tc_infer *c) {
  copy_shape(c->out, c->in[0]);
  return TC_OK;
}

tc_status tc_shape_along(const struct tc_infer *c) {
  int dim = 0;
  const int ndim = c->in[0]->ndim;
  const tc_status status = tc_infer_dim(c, 0, ndim ? ndim : 1, &dim);
  return status ? status : tc_shape_same(c);
}

tc_status tc_shape_dims(const struct tc_infer *c) {
  for (int i = 0, dim = 0; i < c->attrs->n_ints; i++) {
    const tc_status status = tc_infer_dim(c, i, c->in[0]->ndim, &dim);
    if (status) return status;
  }
  return tc_shape_same(c);
}

tc_status tc_shape_diagonal(const struct tc_infer *c) {
  if (c->attrs->n_ints < 1) return tc_infer_fail(c, TC_ARG, "the diagonal is missing");
  if (c->in[0]->ndim < 2) return tc_infer_fail(c, TC_SHAPE, "takes at least 2 dimensions");
  return tc_shape_same(c);
}

static tc_status fail_broadcast(const struct tc_infer *c) {
  return tc_infer_fail(c, TC_SHAPE,
                       "the sizes can not be broadcast together: aligned at the last dimension, each pair "
                       "must be equal or contain a 1");
}

tc_status tc_shape_broadcast(const struct tc_infer *c) {
  copy_shape(c->out, c->in[0]);
  for (int i = 1; i < c->n_in; i++)
    if (!tc_broadcast_into(c->tab, c->in[i]->sizes, c->in[i]->ndim, c->out->sizes, &c->out->ndim))
      return fail_broadcast(c);
  return TC_OK;
}

tc_status tc_shape_copy_(const struct tc_infer *c) {
  copy_shape(c->out, c->in[0]);
  int ndim = c->out->ndim;
  if (c->in[1]->ndim > ndim)
    return tc_infer_fail(c, TC_SHAPE, "the source has more dimensions than the target");
  for (int d = 0; d < c->in[1]->ndim; d++) {
    const tc_sym to = c->in[0]->sizes[ndim - 1 - d], from = c->in[1]->sizes[c->in[1]->ndim - 1 - d];
    if (!tc_sym_is(from, 1) && !tc_sym_decide_eq(c->tab, from, to))
      return tc_infer_fail(c, TC_SHAPE, "the source does not broadcast to the target");
  }
  return TC_OK;
}

/* ---- reductions, normalisation ---- */

/* argmax of nothing, amax of nothing: there is no value to give. */
static bool needs_element(tc_op op) {
  return op == TC_OP_amax || op == TC_OP_amin || op == TC_OP_argmax || op == TC_OP_argmin;
}

/* Reads ints = keepdim, dims… as a set of bits. */
static tc_status read_reduced(const struct tc_infer *c, unsigned *reduced) {
  const struct tc_meta *x = c->in[0];
  *reduced = 0;
  if (c->attrs->n_ints < 1) return tc_infer_fail(c, TC_ARG, "attributes are missing");
  if (c->attrs->n_ints == 1 && x->ndim) return tc_infer_fail(c, TC_ARG, "the dimensions are missing");
  for (int i = 1, dim = 0; i < c->attrs->n_ints; i++) {
    const tc_status status = tc_infer_dim(c, i, x->ndim, &dim);
    if (status) return status;
    if (*reduced >> dim & 1) return tc_infer_fail(c, TC_ARG, "dimension %d is named twice", dim + 1);
    *reduced |= 1u << dim;
    if (needs_element(c->op) && tc_size_is(c, x->sizes[dim], 0))
      return tc_infer_fail(c, TC_SHAPE, "dimension %d has size 0, and there is no element to choose",
                           dim + 1);
  }
  return TC_OK;
}

tc_status tc_shape_reduce(const struct tc_infer *c) {
  unsigned reduced;
  const tc_status status = read_reduced(c, &reduced);
  if (status) return status;
  const bool keepdim = !tc_sym_is(c->attrs->ints[0], 0);
  const struct tc_meta *x = c->in[0];
  int ndim = 0;
  for (int d = 0; d < x->ndim; d++) {
    if (!(reduced >> d & 1))
      c->out->sizes[ndim++] = x->sizes[d];
    else if (keepdim)
      c->out->sizes[ndim++] = tc_sym_const(1);
  }
  c->out->ndim = ndim;
  return TC_OK;
}

tc_status tc_shape_norm(const struct tc_infer *c) {
  const struct tc_attrs *a = c->attrs;
  if (a->n_ints != 3 || a->n_nums != 1 || !tc_sym_is_const(a->ints[0]))
    return tc_infer_fail(c, TC_ARG,
                         "takes the count of normalised dimensions, has weight, has bias, and eps");
  const struct tc_meta *x = c->in[0];
  const int64_t count = tc_attr_int(a, 0);
  if (count < 1 || count > x->ndim)
    return tc_infer_fail(c, TC_SHAPE, "%lld dimensions are to be normalised; the operand has %d",
                         (long long)count, x->ndim);
  const int operands = 1 + !tc_sym_is(a->ints[1], 0) + !tc_sym_is(a->ints[2], 0);
  if (c->n_in != operands)
    return tc_infer_fail(c, TC_ARG, "%d operands are announced, %d are given", operands, c->n_in);
  for (int i = 1; i < c->n_in; i++) {
    bool equal = c->in[i]->ndim == count;
    for (int d = 0; equal && d < count; d++)
      equal = tc_sym_decide_eq(c->tab, c->in[i]->sizes[d], x->sizes[x->ndim - (int)count + d]);
    if (!equal)
      return tc_infer_fail(c, TC_SHAPE,
                           "operand %d must have the shape of the last %d dimensions of the first", i + 1,
                           (int)count);
  }
  copy_shape(c->out, x);
  return TC_OK;
}
