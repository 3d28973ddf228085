/* Views of concrete strided tensors: the sizes come from inference, the strides are computed here.
 *
 * Invariants: a view shares its operand's storage (one more reference), reads only elements that the
 * operand has, and never has a negative stride. */
#include "ops/op.h"

/* The strides with which `to_sizes` walks the same elements in the same row-major order; false when
 * there are none. The operand's dimensions are taken from the last in blocks without gaps (each
 * stride is the inner stride times the inner size); each block must be split by whole new sizes. */
static bool strides_of_reshape(const struct tc_tensor *x, int to_ndim, const int64_t *to_sizes,
                               int64_t *to_strides) {
  if (tc_tensor_numel(x) == 0) {
    tc_contiguous_strides(to_ndim, to_sizes, to_strides);
    return true;
  }
  int to = to_ndim - 1;
  int64_t block = 1;       /* elements of the block so far */
  int64_t base_stride = 1; /* of its innermost dimension */
  if (x->ndim) base_stride = x->strides[x->ndim - 1];
  for (int d = x->ndim - 1; d >= 0; d--) {
    block *= x->sizes[d];
    const bool ends = d == 0 || (x->sizes[d - 1] != 1 && x->strides[d - 1] != block * base_stride);
    if (!ends) continue;
    int64_t covered = 1;
    while (to >= 0 && (covered < block || to_sizes[to] == 1)) {
      to_strides[to] = covered * base_stride;
      covered *= to_sizes[to--];
    }
    if (covered != block) return false;
    if (d) {
      base_stride = x->strides[d - 1];
      block = 1;
    }
  }
  while (to >= 0) to_strides[to--] = base_stride * block; /* sizes of 1 in front of a 0-dimensional operand */
  return true;
}

static void view_expand(const struct tc_tensor *x, struct tc_tensor *out) {
  const int added = out->ndim - x->ndim;
  for (int d = 0; d < out->ndim; d++) {
    const bool repeats = d < added || (x->sizes[d - added] == 1 && out->sizes[d] != 1);
    out->strides[d] = repeats ? 0 : x->strides[d - added];
  }
}

static void view_permute(const struct tc_tensor *x, const struct tc_attrs *attrs, struct tc_tensor *out) {
  for (int d = 0; d < out->ndim; d++) out->strides[d] = x->strides[tc_attr_int(attrs, d)];
}

static void view_slice(const struct tc_tensor *x, const struct tc_attrs *attrs, struct tc_tensor *out) {
  const int dim = (int)tc_attr_int(attrs, 0);
  for (int d = 0; d < out->ndim; d++) out->strides[d] = x->strides[d];
  out->offset = x->offset + tc_attr_int(attrs, 1) * x->strides[dim];
  out->strides[dim] = x->strides[dim] * tc_attr_int(attrs, 3);
}

static void view_squeeze(const struct tc_tensor *x, const struct tc_attrs *attrs, struct tc_tensor *out) {
  unsigned dropped = 0;
  for (int i = 0; i < attrs->n_ints; i++) dropped |= 1u << tc_attr_int(attrs, i);
  int to = 0;
  for (int d = 0; d < x->ndim; d++)
    if (!(dropped >> d & 1)) out->strides[to++] = x->strides[d];
}

static void view_unsqueeze(const struct tc_tensor *x, const struct tc_attrs *attrs, struct tc_tensor *out) {
  const int dim = (int)tc_attr_int(attrs, 0);
  for (int d = 0; d < dim; d++) out->strides[d] = x->strides[d];
  out->strides[dim] = dim < x->ndim ? x->sizes[dim] * x->strides[dim] : 1;
  for (int d = dim; d < x->ndim; d++) out->strides[d + 1] = x->strides[d];
}

static tc_status fail_strides(tc_op op, const struct tc_tensor *x, const struct tc_meta *meta,
                              struct tc_error *err) {
  if (!err) return TC_SHAPE;
  struct tc_strbuf text;
  struct tc_meta from;
  tc_meta_of_tensor(x, &from);
  tc_strbuf_init(&text, tc_alloc_system());
  tc_strbuf_printf(&text, "%s: ", tc_op_row(op)->name);
  tc_meta_print(&text, &from);
  for (int d = 0; d < x->ndim; d++)
    tc_strbuf_printf(&text, d ? ", %lld" : " with strides [%lld", (long long)x->strides[d]);
  tc_strbuf_puts(&text, "] can not be seen without a copy as ");
  tc_meta_print(&text, meta);
  const char *line = tc_strbuf_text(&text);
  tc_fail(err, TC_SHAPE, "ops", "%s; use reshape", line ? line : "view");
  tc_strbuf_free(&text);
  return TC_SHAPE;
}

tc_status tc_view_of(tc_op op, const struct tc_tensor *x, const struct tc_attrs *attrs,
                     const struct tc_meta *meta, struct tc_tensor *out, struct tc_error *err) {
  struct tc_tensor view = {.storage = x->storage, .dtype = x->dtype, .ndim = meta->ndim, .offset = x->offset};
  for (int d = 0; d < meta->ndim; d++) view.sizes[d] = tc_sym_value(meta->sizes[d]);
  switch (op) {
    case TC_OP_view:
    case TC_OP_reshape:
      if (!strides_of_reshape(x, view.ndim, view.sizes, view.strides)) return fail_strides(op, x, meta, err);
      break;
    case TC_OP_expand: view_expand(x, &view); break;
    case TC_OP_permute: view_permute(x, attrs, &view); break;
    case TC_OP_slice: view_slice(x, attrs, &view); break;
    case TC_OP_squeeze: view_squeeze(x, attrs, &view); break;
    case TC_OP_unsqueeze: view_unsqueeze(x, attrs, &view); break;
    default: return tc_fail(err, TC_ARG, "ops", "%s: is no view", tc_op_row(op)->name);
  }
  tc_storage_retain(view.storage);
  *out = view;
  return TC_OK;
}
