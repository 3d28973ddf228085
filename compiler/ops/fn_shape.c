/* Tensor functions that change the shape or the order of elements. */
#include <string.h>

#include "ops/call.h"

static tc_sym product(struct tc_call *c, int count, const tc_sym *sizes) {
  tc_sym result = tc_sym_const(1);
  for (int i = 0; i < count; i++) result = tc_sym_mul(tc_call_tab(c), result, sizes[i]);
  return result;
}

static void *fail_sizes(struct tc_call *c, tc_status status, const char *what, int count, const tc_sym *sizes,
                        tc_sym total) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, tc_alloc_system());
  for (int i = 0; i < count; i++) {
    tc_strbuf_puts(&text, i ? ", " : "");
    tc_sym_print(&text, sizes[i]);
  }
  tc_strbuf_puts(&text, "] of ");
  tc_sym_print(&text, total);
  const char *line = tc_strbuf_text(&text);
  tc_call_fail(c, status, "[%s elements: %s", line ? line : "", what);
  tc_strbuf_free(&text);
  return NULL;
}

/* Replaces the one -1 by what `total` leaves; false when that can not be. */
static bool resolve_sizes(struct tc_call *c, int count, tc_sym *sizes, tc_sym total) {
  int unknown = -1;
  tc_sym known = tc_sym_const(1);
  for (int i = 0; i < count; i++) {
    if (!tc_sym_is(sizes[i], -1)) {
      if (tc_sym_is_const(sizes[i]) && tc_sym_value(sizes[i]) < 0)
        return fail_sizes(c, TC_ARG, "a size is negative", count, sizes, total);
      known = tc_sym_mul(tc_call_tab(c), known, sizes[i]);
    } else if (unknown >= 0) {
      return fail_sizes(c, TC_ARG, "only one size can be -1", count, sizes, total);
    } else {
      unknown = i;
    }
  }
  if (unknown < 0) return true;
  if (tc_sym_is(known, 0)) return fail_sizes(c, TC_SHAPE, "-1 could be any size", count, sizes, total);
  if (!tc_sym_is(tc_sym_mod(tc_call_tab(c), total, known), 0) &&
      !tc_sym_decide_eq(tc_call_tab(c), tc_sym_mod(tc_call_tab(c), total, known), tc_sym_const(0)))
    return fail_sizes(c, TC_SHAPE, "the sizes do not divide the number of elements", count, sizes, total);
  sizes[unknown] = tc_sym_div(tc_call_tab(c), total, known);
  return true;
}

/* view and reshape. */
struct tc_value *tc_fn_view(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  tc_sym sizes[TC_MAX_DIMS];
  const struct tc_meta meta = tc_r_meta(&c->r, x);
  const int count = tc_call_ints(c, 1, TC_MAX_DIMS, sizes);
  if (c->r.status || !resolve_sizes(c, count, sizes, tc_meta_numel(tc_call_tab(c), &meta))) return NULL;
  return tc_call_emit_ints(c, c->op, x, count, sizes);
}

struct tc_value *tc_fn_flatten(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const struct tc_meta meta = tc_r_meta(&c->r, x);
  const int start = tc_call_dim(c, 1, meta.ndim, 0), end = tc_call_dim(c, 2, meta.ndim, meta.ndim - 1);
  tc_sym sizes[TC_MAX_DIMS] = {tc_sym_const(1)};
  if (meta.ndim == 0) return tc_call_reshape(c, x, 1, sizes);
  if (start > end) return tc_call_fail(c, TC_ARG, "start_dim comes after end_dim");
  if (start == end) return x;
  const int merged = end - start + 1;
  memcpy(sizes, meta.sizes, (size_t)start * sizeof *sizes);
  sizes[start] = product(c, merged, meta.sizes + start);
  memcpy(sizes + start + 1, meta.sizes + end + 1, (size_t)(meta.ndim - end - 1) * sizeof *sizes);
  return tc_call_reshape(c, x, meta.ndim - merged + 1, sizes);
}

struct tc_value *tc_fn_unflatten(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const struct tc_meta meta = tc_r_meta(&c->r, x);
  const int dim = tc_call_dim(c, 1, meta.ndim, 0);
  tc_sym parts[TC_MAX_DIMS], sizes[TC_MAX_DIMS];
  const int count = tc_call_ints(c, 2, TC_MAX_DIMS, parts), ndim = meta.ndim - 1 + count;
  if (c->r.status) return NULL;
  if (meta.ndim == 0 || count == 0)
    return tc_call_fail(c, TC_ARG, "needs a dimension and at least one size for it");
  if (ndim > TC_MAX_DIMS)
    return tc_call_fail(c, TC_LIMIT, "%d dimensions, at most %d are supported", ndim, TC_MAX_DIMS);
  if (!resolve_sizes(c, count, parts, meta.sizes[dim])) return NULL;
  if (!tc_sym_decide_eq(tc_call_tab(c), product(c, count, parts), meta.sizes[dim]))
    return fail_sizes(c, TC_SHAPE, "the sizes do not make up the dimension", count, parts, meta.sizes[dim]);
  memcpy(sizes, meta.sizes, (size_t)dim * sizeof *sizes);
  memcpy(sizes + dim, parts, (size_t)count * sizeof *sizes);
  memcpy(sizes + dim + count, meta.sizes + dim + 1, (size_t)(meta.ndim - dim - 1) * sizeof *sizes);
  return tc_call_reshape(c, x, ndim, sizes);
}

/* ---- order of dimensions ---- */

static struct tc_value *emit_dims(struct tc_call *c, tc_op op, struct tc_value *x, int count,
                                  const int *dims) {
  tc_sym ints[TC_MAX_DIMS];
  for (int i = 0; i < count; i++) ints[i] = tc_sym_const(dims[i]);
  return tc_call_emit_ints(c, op, x, count, ints);
}

struct tc_value *tc_fn_permute(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const int ndim = tc_r_meta(&c->r, x).ndim;
  int dims[TC_MAX_DIMS];
  const struct tc_arg *given = &c->args[1];
  if (given->kind == TC_ARG_LIST && given->list.count != ndim)
    return tc_call_fail(c, TC_ARG, "%d dimensions are named, the tensor has %d", given->list.count, ndim);
  const int count = tc_call_dims(c, 1, ndim, dims);
  return emit_dims(c, TC_OP_permute, x, count, dims);
}

struct tc_value *tc_fn_transpose(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const int ndim = tc_r_meta(&c->r, x).ndim;
  const int dim0 = tc_call_dim(c, 1, ndim, 0), dim1 = tc_call_dim(c, 2, ndim, 0);
  return tc_call_transpose(c, x, dim0, dim1);
}

struct tc_value *tc_fn_t(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const int ndim = tc_r_meta(&c->r, x).ndim;
  if (ndim > 2) return tc_call_fail(c, TC_SHAPE, "takes at most 2 dimensions, got %d; use transpose", ndim);
  return ndim < 2 ? x : tc_call_transpose(c, x, 0, 1);
}

struct tc_value *tc_fn_flip(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  int dims[TC_MAX_DIMS];
  if (c->args[1].kind == TC_ARG_LIST && c->args[1].list.count == 0) return tc_r1(&c->r, TC_OP_clone, x);
  const int count = tc_call_dims(c, 1, tc_r_meta(&c->r, x).ndim, dims);
  return emit_dims(c, TC_OP_flip, x, count, dims);
}

/* ---- dimensions of size 1 ---- */

struct tc_value *tc_fn_expand(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const struct tc_meta meta = tc_r_meta(&c->r, x);
  tc_sym sizes[TC_MAX_DIMS];
  const int count = tc_call_ints(c, 1, TC_MAX_DIMS, sizes), added = count - meta.ndim;
  for (int i = 0; i < count; i++) {
    if (!tc_sym_is(sizes[i], -1)) continue;
    if (i < added)
      return tc_call_fail(c, TC_ARG, "size %d is -1, but there is no such dimension yet to keep", i + 1);
    if (added >= 0) sizes[i] = meta.sizes[i - added];
  }
  return tc_call_emit_ints(c, TC_OP_expand, x, count, sizes);
}

struct tc_value *tc_fn_expand_as(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const struct tc_meta meta = tc_r_meta(&c->r, tc_call_tensor(c, 1));
  return tc_call_emit_ints(c, TC_OP_expand, x, meta.ndim, meta.sizes);
}

/* Dimensions of another size than 1 stay. */
struct tc_value *tc_fn_squeeze(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const struct tc_meta meta = tc_r_meta(&c->r, x);
  int dims[TC_MAX_DIMS], kept = 0;
  const int count = tc_call_dims(c, 1, meta.ndim, dims);
  for (int i = 0; i < count; i++)
    if (tc_sym_is(meta.sizes[dims[i]], 1) ||
        tc_sym_decide_eq(tc_call_tab(c), meta.sizes[dims[i]], tc_sym_const(1)))
      dims[kept++] = dims[i];
  return kept ? emit_dims(c, TC_OP_squeeze, x, kept, dims) : x;
}

struct tc_value *tc_fn_unsqueeze(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  const int dim = tc_call_dim(c, 1, tc_r_meta(&c->r, x).ndim + 1, 0);
  return emit_dims(c, TC_OP_unsqueeze, x, 1, &dim);
}

/* ---- copies ---- */

/* What a negative amount cuts off; the amounts that remain are not negative. */
static struct tc_value *cut(struct tc_call *c, struct tc_value *x, int ndim, tc_sym *amounts) {
  struct tc_symtab *tab = tc_call_tab(c);
  const tc_sym zero = tc_sym_const(0);
  for (int d = 0; d < ndim && x; d++) {
    tc_sym *before = &amounts[2 * d], *after = &amounts[2 * d + 1];
    const bool cuts_before = tc_sym_decide_lt(tab, *before, zero),
               cuts_after = tc_sym_decide_lt(tab, *after, zero);
    if (!cuts_before && !cuts_after) continue;
    const tc_sym start = cuts_before ? tc_sym_sub(tab, zero, *before) : zero;
    tc_sym length = tc_sym_sub(tab, tc_r_meta(&c->r, x).sizes[d], start);
    if (cuts_after) length = tc_sym_add(tab, length, *after);
    x = tc_call_slice(c, x, d, start, length, tc_sym_const(1));
    if (cuts_before) *before = zero;
    if (cuts_after) *after = zero;
  }
  return x;
}

struct tc_value *tc_fn_pad(struct tc_call *c) {
  enum { ARG_PAD = 1, ARG_MODE = 2, ARG_VALUE = 3 };
  struct tc_value *x = tc_call_tensor(c, 0);
  const int ndim = tc_r_meta(&c->r, x).ndim;
  tc_sym given[2 * TC_MAX_DIMS], amounts[2 * TC_MAX_DIMS];
  const int count = tc_call_ints(c, ARG_PAD, 2 * TC_MAX_DIMS, given);
  const char *mode = tc_call_text(c, ARG_MODE, "constant");
  const double nums[] = {tc_call_number(c, ARG_VALUE, 0)};
  if (c->r.status) return NULL;
  if (strcmp(mode, "constant"))
    return tc_call_fail(c, TC_UNSUPPORTED, "mode '%s' is not supported; there is 'constant'", mode);
  if (count % 2 || count > 2 * ndim)
    return tc_call_fail(
        c, TC_ARG, "pad takes a before and an after for at most %d dimensions, got %d numbers", ndim, count);
  for (int d = 0; d < ndim; d++) {
    const int from = 2 * (ndim - 1 - d); /* the list starts at the last dimension */
    amounts[2 * d] = from < count ? given[from] : tc_sym_const(0);
    amounts[2 * d + 1] = from < count ? given[from + 1] : tc_sym_const(0);
  }
  x = cut(c, x, ndim, amounts);
  return tc_rn(&c->r, TC_OP_pad, 1, &x, &(struct tc_attrs){amounts, 2 * ndim, nums, 1});
}

struct tc_value *tc_fn_triangle(struct tc_call *c) {
  const tc_sym diagonal = tc_call_given(c, 1) ? tc_call_bound(c, 1) : tc_sym_const(0);
  return tc_call_emit_ints(c, c->op, tc_call_tensor(c, 0), 1, &diagonal);
}

struct tc_value *tc_fn_clone(struct tc_call *c) { return tc_r1(&c->r, TC_OP_clone, tc_call_tensor(c, 0)); }

struct tc_value *tc_fn_contiguous(struct tc_call *c) {
  struct tc_value *x = tc_call_tensor(c, 0);
  struct tc_builder *b = c->r.b;
  return x && b->methods->is_contiguous && b->methods->is_contiguous(b, x) ? x : tc_r1(&c->r, TC_OP_clone, x);
}
