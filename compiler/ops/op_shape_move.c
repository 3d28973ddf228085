/* The shape rules of ops.def for views, copies and gathers. */
#include "ops/rules.h"

static tc_status take_sizes(const struct tc_infer *c) {
  if (c->attrs->n_ints > TC_MAX_DIMS)
    return tc_infer_fail(c, TC_LIMIT, "%d dimensions, at most %d are supported", c->attrs->n_ints,
                         TC_MAX_DIMS);
  c->out->ndim = c->attrs->n_ints;
  for (int d = 0; d < c->out->ndim; d++) c->out->sizes[d] = c->attrs->ints[d];
  return tc_infer_check_sizes(c);
}

tc_status tc_shape_view(const struct tc_infer *c) {
  const tc_status status = take_sizes(c);
  if (status) return status;
  const tc_sym have = tc_meta_numel(c->tab, c->in[0]), want = tc_meta_numel(c->tab, c->out);
  if (tc_sym_same(have, want) || tc_sym_decide_eq(c->tab, have, want)) return TC_OK;
  if (tc_sym_is_const(have) && tc_sym_is_const(want))
    return tc_infer_fail(c, TC_SHAPE, "%lld elements can not be seen as %lld", (long long)tc_sym_value(have),
                         (long long)tc_sym_value(want));
  return tc_infer_fail(c, TC_SHAPE, "the number of elements would change");
}

tc_status tc_shape_expand(const struct tc_infer *c) {
  const tc_status status = take_sizes(c);
  if (status) return status;
  const struct tc_meta *x = c->in[0];
  const int added = c->out->ndim - x->ndim;
  if (added < 0)
    return tc_infer_fail(c, TC_SHAPE, "expanding to %d dimensions, fewer than there are", c->out->ndim);
  for (int d = 0; d < x->ndim; d++) {
    const tc_sym from = x->sizes[d], to = c->out->sizes[d + added];
    if (tc_sym_same(from, to) || tc_sym_is(from, 1) || tc_sym_decide_eq(c->tab, from, to)) continue;
    return tc_infer_fail(c, TC_SHAPE, "dimension %d has another size than 1 and can not be expanded", d + 1);
  }
  return TC_OK;
}

tc_status tc_shape_permute(const struct tc_infer *c) {
  tc_status status;
  const struct tc_meta *x = c->in[0];
  if (c->attrs->n_ints != x->ndim)
    return tc_infer_fail(c, TC_SHAPE, "%d dimensions are named, there are %d", c->attrs->n_ints, x->ndim);
  unsigned seen = 0;
  for (int d = 0, from = 0; d < x->ndim; d++) {
    if ((status = tc_infer_dim(c, d, x->ndim, &from))) return status;
    if (seen >> from & 1) return tc_infer_fail(c, TC_ARG, "dimension %d is named twice", from + 1);
    seen |= 1u << from;
    c->out->sizes[d] = x->sizes[from];
  }
  c->out->ndim = x->ndim;
  return TC_OK;
}

tc_status tc_shape_slice(const struct tc_infer *c) {
  tc_status status;
  const struct tc_meta *x = c->in[0];
  int dim = 0;
  if (c->attrs->n_ints != 4) return tc_infer_fail(c, TC_ARG, "takes dimension, start, length and step");
  if ((status = tc_infer_dim(c, 0, x->ndim, &dim))) return status;
  const tc_sym start = c->attrs->ints[1], length = c->attrs->ints[2], step = c->attrs->ints[3],
               zero = tc_sym_const(0);
  if (!tc_sym_valid(start) || !tc_sym_valid(length) || !tc_sym_valid(step))
    return tc_infer_fail(c, TC_LIMIT, "a bound is too large");
  if (!tc_sym_decide_lt(c->tab, zero, step)) return tc_infer_fail(c, TC_ARG, "the step must be at least 1");
  if (tc_sym_decide_lt(c->tab, start, zero) || tc_sym_decide_lt(c->tab, length, zero))
    return tc_infer_fail(c, TC_INDEX, "start and length can not be negative");
  /* One past the last element that is read. */
  tc_sym end = start;
  if (!tc_sym_is(length, 0))
    end = tc_sym_add(c->tab, end,
                     tc_sym_add(c->tab, tc_sym_mul(c->tab, tc_sym_sub(c->tab, length, tc_sym_const(1)), step),
                                tc_sym_const(1)));
  if (!tc_sym_same(end, x->sizes[dim]) &&
      (!tc_sym_valid(end) || tc_sym_decide_lt(c->tab, x->sizes[dim], end)))
    return tc_infer_fail(c, TC_INDEX, "the slice ends behind dimension %d", dim + 1);
  c->out->ndim = x->ndim;
  for (int d = 0; d < x->ndim; d++) c->out->sizes[d] = d == dim ? length : x->sizes[d];
  return TC_OK;
}

tc_status tc_shape_squeeze(const struct tc_infer *c) {
  tc_status status;
  const struct tc_meta *x = c->in[0];
  unsigned dropped = 0;
  for (int i = 0, dim = 0; i < c->attrs->n_ints; i++) {
    if ((status = tc_infer_dim(c, i, x->ndim, &dim))) return status;
    if (!tc_size_is(c, x->sizes[dim], 1))
      return tc_infer_fail(c, TC_SHAPE, "dimension %d has another size than 1", dim + 1);
    dropped |= 1u << dim;
  }
  int ndim = 0;
  for (int d = 0; d < x->ndim; d++)
    if (!(dropped >> d & 1)) c->out->sizes[ndim++] = x->sizes[d];
  c->out->ndim = ndim;
  return TC_OK;
}

tc_status tc_shape_unsqueeze(const struct tc_infer *c) {
  tc_status status;
  const struct tc_meta *x = c->in[0];
  int dim = 0;
  if (x->ndim >= TC_MAX_DIMS)
    return tc_infer_fail(c, TC_LIMIT, "at most %d dimensions are supported", TC_MAX_DIMS);
  if ((status = tc_infer_dim(c, 0, x->ndim + 1, &dim))) return status;
  for (int d = 0; d < dim; d++) c->out->sizes[d] = x->sizes[d];
  c->out->sizes[dim] = tc_sym_const(1);
  for (int d = dim; d < x->ndim; d++) c->out->sizes[d + 1] = x->sizes[d];
  c->out->ndim = x->ndim + 1;
  return TC_OK;
}

tc_status tc_shape_pad(const struct tc_infer *c) {
  const struct tc_meta *x = c->in[0];
  if (c->attrs->n_ints != 2 * x->ndim || c->attrs->n_nums != 1)
    return tc_infer_fail(c, TC_ARG, "takes two amounts for each dimension, and a value");
  c->out->ndim = x->ndim;
  for (int d = 0; d < x->ndim; d++) {
    const tc_sym before = c->attrs->ints[2 * d], after = c->attrs->ints[2 * d + 1], zero = tc_sym_const(0);
    if (!tc_sym_valid(before) || !tc_sym_valid(after))
      return tc_infer_fail(c, TC_LIMIT, "an amount is too large");
    if (tc_sym_decide_lt(c->tab, before, zero) || tc_sym_decide_lt(c->tab, after, zero))
      return tc_infer_fail(c, TC_ARG, "the amounts of dimension %d can not be negative; use slice", d + 1);
    c->out->sizes[d] = tc_sym_add(c->tab, tc_sym_add(c->tab, x->sizes[d], before), after);
  }
  return tc_infer_check_sizes(c);
}

tc_status tc_shape_cat(const struct tc_infer *c) {
  tc_status status;
  const struct tc_meta *first = c->in[0];
  int dim = 0;
  if (first->ndim == 0)
    return tc_infer_fail(c, TC_SHAPE, "a 0-dimensional tensor can not be joined; use stack");
  if ((status = tc_infer_dim(c, 0, first->ndim, &dim))) return status;
  c->out->ndim = first->ndim;
  for (int d = 0; d < first->ndim; d++) c->out->sizes[d] = first->sizes[d];
  for (int i = 1; i < c->n_in; i++) {
    if (c->in[i]->ndim != first->ndim)
      return tc_infer_fail(c, TC_SHAPE, "operand %d has another number of dimensions than the first", i + 1);
    for (int d = 0; d < first->ndim; d++) {
      const tc_sym size = c->in[i]->sizes[d];
      if (d == dim)
        c->out->sizes[d] = tc_sym_add(c->tab, c->out->sizes[d], size);
      else if (!tc_sym_same(size, first->sizes[d]) && !tc_sym_decide_eq(c->tab, size, first->sizes[d]))
        return tc_infer_fail(
            c, TC_SHAPE, "operand %d differs from the first in dimension %d; only dimension %d may differ",
            i + 1, d + 1, dim + 1);
    }
  }
  return tc_infer_check_sizes(c);
}

/* Nothing can be chosen from an empty dimension, where kernels would have nothing to read. */
static tc_status check_choice(const struct tc_infer *c, int dim) {
  if (!tc_size_is(c, c->in[0]->sizes[dim], 0)) return TC_OK;
  for (int d = 0; d < c->in[1]->ndim; d++)
    if (tc_size_is(c, c->in[1]->sizes[d], 0)) return TC_OK;
  return tc_infer_fail(c, TC_INDEX, "dimension %d is empty, so that no index lies in it", dim + 1);
}

tc_status tc_shape_embedding(const struct tc_infer *c) {
  const struct tc_meta *weight = c->in[0], *index = c->in[1];
  if (weight->ndim != 2) return tc_infer_fail(c, TC_SHAPE, "the weight must have 2 dimensions");
  if (index->ndim >= TC_MAX_DIMS)
    return tc_infer_fail(c, TC_LIMIT, "at most %d dimensions are supported", TC_MAX_DIMS);
  for (int d = 0; d < index->ndim; d++) c->out->sizes[d] = index->sizes[d];
  c->out->sizes[index->ndim] = weight->sizes[1];
  c->out->ndim = index->ndim + 1;
  const tc_status status = tc_infer_check_sizes(c);
  return status ? status : check_choice(c, 0);
}

static tc_status check_index_dtype(const struct tc_infer *c) {
  return c->in[1]->dtype == TC_I64 ? TC_OK : tc_infer_fail_dtype(c, "the index must be i64");
}

tc_status tc_shape_gather(const struct tc_infer *c) {
  const struct tc_meta *x = c->in[0], *index = c->in[1];
  int dim = 0;
  tc_status status = check_index_dtype(c);
  if (status) return status;
  if (x->ndim != index->ndim)
    return tc_infer_fail(c, TC_SHAPE, "the index must have as many dimensions as the tensor");
  if ((status = tc_infer_dim(c, 0, x->ndim, &dim))) return status;
  for (int d = 0; d < x->ndim; d++) {
    const tc_sym have = x->sizes[d], want = index->sizes[d];
    if (d != dim && !tc_sym_same(have, want) && tc_sym_decide_lt(c->tab, have, want))
      return tc_infer_fail(c, TC_SHAPE, "the index is larger than the tensor in dimension %d", d + 1);
    c->out->sizes[d] = want;
  }
  c->out->ndim = x->ndim;
  return check_choice(c, dim);
}

tc_status tc_shape_index_select(const struct tc_infer *c) {
  const struct tc_meta *x = c->in[0], *index = c->in[1];
  int dim = 0;
  tc_status status = check_index_dtype(c);
  if (status) return status;
  if (index->ndim != 1) return tc_infer_fail(c, TC_SHAPE, "the index must have 1 dimension");
  if ((status = tc_infer_dim(c, 0, x->ndim, &dim))) return status;
  for (int d = 0; d < x->ndim; d++) c->out->sizes[d] = d == dim ? index->sizes[0] : x->sizes[d];
  c->out->ndim = x->ndim;
  if ((status = tc_infer_check_sizes(c))) return status;
  return check_choice(c, dim);
}
