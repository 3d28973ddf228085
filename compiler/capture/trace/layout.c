/* Where the eager values of nodes lie in memory: capture answers by it what plain code asks of strides, and
 * refuses what eager views refuse.
 *
 * Invariants: an operation that is no view makes its value row by row. Layouts are those of the captured call
 * (hints); where sizes vary, strides of external tensors are guarded to have the same form (shapes.c), and so
 * those above them do. */
#include <string.h>

#include "capture/trace/shapes.h"
#include "capture/trace/trace.h"

static bool is_view(const struct tc_node *node) { return tc_op_row(node->op)->kind == TC_KIND_VIEW; }

/* The view that a node makes of its operand in the captured call. */
static tc_status view_at_hints(const struct tc_node *node, const struct tc_tensor *operand,
                               struct tc_tensor *view, struct tc_error *err) {
  tc_sym ints[TC_MAX_ATTRS];
  struct tc_attrs attrs = node->attrs;
  struct tc_meta meta = node->meta;
  for (int i = 0; i < attrs.n_ints; i++) ints[i] = tc_sym_const(tc_sym_hint(attrs.ints[i]));
  for (int d = 0; d < meta.ndim; d++) meta.sizes[d] = tc_sym_const(tc_sym_hint(meta.sizes[d]));
  attrs.ints = ints;
  return tc_view_of(node->op, operand, &attrs, &meta, view, err);
}

/* The layout of a node's eager value, given that of its operand (views alone look at it). */
static void lay_out(const struct tc_node *node, struct tc_tensor *tensor) {
  const struct tc_tensor operand = *tensor;
  struct tc_tensor view;
  tensor->dtype = node->meta.dtype;
  tensor->ndim = node->meta.ndim;
  tensor->offset = 0;
  for (int d = 0; d < tensor->ndim; d++) tensor->sizes[d] = tc_sym_hint(node->meta.sizes[d]);
  tc_contiguous_strides(tensor->ndim, tensor->sizes, tensor->strides);
  if (node->op == TC_OP_input)
    for (int d = 0; d < tensor->ndim; d++) tensor->strides[d] = tc_sym_hint(node->strides[d]);
  if (is_view(node) && view_at_hints(node, &operand, &view, NULL) == TC_OK)
    *tensor = view; /* else a reshape that copies */
}

/* Views are laid over one another from the node below them up. Each keeps its layout in `scratch`, so that a
 * chain of views is gone over once, however often it is asked for. Off (opt.storage_cache): it is gone over
 * down to its storage for each question. `storage` stands for all storages: views count references, for which
 * nobody asks. */
static tc_status layout_of(struct tc_trace *t, struct tc_node *node, struct tc_storage *storage,
                           struct tc_tensor *out) {
  TC_VEC(struct tc_node *) chain = {0};
  *storage = (struct tc_storage){.references = 1};
  *out = (struct tc_tensor){.storage = storage};
  for (; is_view(node) && !node->scratch; node = node->in[0])
    if (!tc_vec_push(tc_arena_alloc(t->arena), &chain, node)) return tc_trace_nomem(t);
  if (node->scratch)
    *out = *(const struct tc_tensor *)node->scratch;
  else
    lay_out(node, out);
  out->storage = storage;
  for (size_t i = chain.len; i-- > 0;) {
    lay_out(chain.data[i], out);
    if (!t->ctx->config.opt_storage_cache) continue;
    struct tc_tensor *kept = tc_arena_bytes(t->arena, sizeof *kept);
    if (!kept) return tc_trace_nomem(t);
    *kept = *out;
    chain.data[i]->scratch = kept;
  }
  return TC_OK;
}

/* The layout of a node's value, as symbols: row by row, or else (a view of another form) with its sizes
 * fixed. */
static tc_status node_strides(struct tc_trace *t, struct tc_node *node, tc_sym strides[TC_MAX_DIMS]) {
  struct tc_symtab *tab = t->builder.builder.tab;
  struct tc_storage storage;
  struct tc_tensor layout;
  int64_t by_rows[TC_MAX_DIMS];
  const tc_status status = layout_of(t, node, &storage, &layout);
  if (status) return status;
  tc_contiguous_strides(layout.ndim, layout.sizes, by_rows);
  if (!memcmp(by_rows, layout.strides, sizeof *by_rows * (size_t)layout.ndim)) {
    tc_sym next = tc_sym_const(1);
    for (int d = layout.ndim; d-- > 0;
         next = tc_sym_mul(tab, next, tc_sym_max(tab, node->meta.sizes[d], tc_sym_const(1))))
      strides[d] = next;
    return TC_OK;
  }
  for (int d = 0; d < layout.ndim; d++) {
    tc_sym_decide_eq(tab, node->meta.sizes[d], tc_sym_const(layout.sizes[d]));
    strides[d] = tc_sym_const(layout.strides[d]);
  }
  return TC_OK;
}

tc_status tc_strides_of(struct tc_trace *t, struct tc_traced_tensor *x, tc_sym strides[TC_MAX_DIMS]) {
  const struct tc_traced_shape *shape;
  if (!x->external) return node_strides(t, x->node, strides);
  const tc_status status = tc_shape_of(t, x, &shape);
  if (!status) memcpy(strides, shape->strides, sizeof shape->strides);
  return status;
}

tc_status tc_is_laid_out(struct tc_trace *t, struct tc_traced_tensor *x, bool *contiguous) {
  struct tc_storage storage;
  struct tc_tensor layout;
  tc_status status = TC_OK;
  if (x->external)
    *contiguous = tc_tensor_is_contiguous(x->external);
  else if (!(status = layout_of(t, x->node, &storage, &layout)))
    *contiguous = tc_tensor_is_contiguous(&layout);
  return status;
}

/* --- the builder --- */

static struct tc_trace *trace_of(const struct tc_builder *b) {
  return (struct tc_trace *)(uintptr_t)((const char *)b - offsetof(struct tc_trace, builder));
}

static bool is_contiguous(struct tc_builder *b, const struct tc_value *value) {
  struct tc_storage storage;
  struct tc_tensor layout;
  return layout_of(trace_of(b), (struct tc_node *)value, &storage, &layout) == TC_OK &&
         tc_tensor_is_contiguous(&layout);
}

/* A view that strides cannot express raises in plain code. */
static tc_status emit(struct tc_builder *b, tc_op op, int n_in, struct tc_value *const *in,
                      const struct tc_attrs *attrs, struct tc_value **out, struct tc_error *err) {
  struct tc_trace *t = trace_of(b);
  tc_status status = t->graph_methods->emit(b, op, n_in, in, attrs, out, err);
  if (status || op != TC_OP_view) return status;
  struct tc_storage storage;
  struct tc_tensor layout, view;
  const struct tc_node *node = tc_node_of(*out);
  status = layout_of(t, tc_node_of(in[0]), &storage, &layout);
  return status ? status : view_at_hints(node, &layout, &view, err);
}

void tc_trace_open_builder(struct tc_trace *t) {
  tc_graph_builder_init(&t->builder, t->out->graph);
  t->graph_methods = t->builder.builder.methods;
  t->methods = *t->graph_methods;
  t->methods.emit = emit;
  t->methods.is_contiguous = is_contiguous;
  t->builder.builder.methods = &t->methods;
  t->builder.builder.device = t->ctx->device;
  if (t->host->default_dtype) t->builder.builder.default_dtype = t->host->default_dtype(t->L);
}
