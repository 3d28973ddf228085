/* Inputs like those of a call, as a Lua function that makes them.
 *
 * 1. Shape, dtype and strides are the call's. Values of small tensors, of integers and of truths (which
 *    others are chosen by) are the call's own; others are drawn, so that a folder holds no large data.
 * 2. Integers that are drawn are good as indices of everything that the graph reads by index. */
#include <math.h>

#include "lua/compile/compiled_object.h"
#include "tensor/host.h"

enum { MOST_FLOATS = 16, MOST_INTEGERS = 4096 }; /* elements that are written out */

static bool written_out(const struct tc_tensor *x) {
  return x && x->storage && tc_tensor_numel(x) <= (tc_dtype_is_float(x->dtype) ? MOST_FLOATS : MOST_INTEGERS);
}

static void put_element(struct tc_strbuf *out, const struct tc_host_view *x, int64_t i) {
  const tc_dtype dtype = x->tensor.dtype;
  const double value = tc_dtype_is_float(dtype) ? tc_host_f64(x, i) : 0;
  if (dtype == TC_BOOL)
    tc_strbuf_puts(out, tc_host_i64(x, i) ? "true" : "false");
  else if (dtype == TC_I64)
    tc_strbuf_printf(out, "%lld", (long long)tc_host_i64(x, i));
  else if (isnan(value))
    tc_strbuf_puts(out, "0/0");
  else if (isinf(value))
    tc_strbuf_puts(out, value < 0 ? "-math.huge" : "math.huge");
  else
    tc_strbuf_printf(out, "%.17g", value);
}

static void put_sizes(struct tc_strbuf *out, int ndim, const int64_t *sizes) {
  tc_strbuf_puts(out, "{");
  for (int d = 0; d < ndim; d++) tc_strbuf_printf(out, "%s%lld", d ? ", " : "", (long long)sizes[d]);
  tc_strbuf_puts(out, "}");
}

static void write_out(struct tc_strbuf *out, const struct tc_tensor *x) {
  const int64_t count = tc_tensor_numel(x);
  struct tc_host_view view;
  if (tc_host_read(x, &view, NULL)) {
    out->failed = true;
    return;
  }
  tc_strbuf_puts(out, x->ndim ? "tb.tensor({" : "tb.tensor(");
  for (int64_t i = 0; i < count; i++) {
    if (i) tc_strbuf_puts(out, ", ");
    put_element(out, &view, i);
  }
  (void)tc_host_end(&view, NULL); /* nothing is written back */
  tc_strbuf_printf(out, "%s, {dtype = \"%s\"})", x->ndim ? "}" : "", tc_dtype_name(x->dtype));
  if (!x->ndim) return;
  tc_strbuf_puts(out, ":view(");
  put_sizes(out, x->ndim, x->sizes);
  tc_strbuf_puts(out, ")");
}

/* --- drawn tensors --- */

/* The least extent that anything in the graph is chosen from by index; 0: nothing is. */
static int64_t least_extent(const struct tc_graph *g) {
  int64_t least = 0;
  for (size_t i = 0; i < g->nodes.len; i++) {
    const struct tc_node *node = g->nodes.data[i];
    if (tc_op_row(node->op)->kind != TC_KIND_GATHER) continue;
    const int dim = node->op == TC_OP_embedding ? 0 : (int)tc_attr_int(&node->attrs, 0);
    const int64_t extent = node->in[0]->meta.ndim ? tc_sym_hint(node->in[0]->meta.sizes[dim]) : 1;
    if (!least || extent < least) least = extent;
  }
  return least;
}

static void draw(struct tc_strbuf *out, const struct tc_graph *g, tc_dtype dtype, int ndim,
                 const int64_t *sizes) {
  enum { SOME = 10 };
  const int64_t extent = least_extent(g);
  tc_strbuf_puts(out, tc_dtype_is_float(dtype) ? "tb.randn(" : dtype == TC_BOOL ? "tb.rand(" : "(tb.rand(");
  put_sizes(out, ndim, sizes);
  if (tc_dtype_is_float(dtype))
    tc_strbuf_printf(out, ", {dtype = \"%s\"})", tc_dtype_name(dtype));
  else if (dtype == TC_BOOL)
    tc_strbuf_puts(out, "):gt(0.5)");
  else
    tc_strbuf_printf(out, ") * %lld):floor():to(\"i64\") + 1", (long long)(extent ? extent : SOME));
}

/* Dimensions in the order of memory: by falling stride. */
static void order_dims(const struct tc_tensor *x, int order[TC_MAX_DIMS]) {
  for (int d = 0; d < x->ndim; d++) {
    int at = d;
    for (; at > 0 && x->strides[order[at - 1]] < x->strides[d]; at--) order[at] = order[at - 1];
    order[at] = d;
  }
}

/* Draws a tensor with these strides: stored in the order of memory, with the gaps that are there cut off,
 * then permuted and expanded. Strides that no such tensor has (overlapping ones) become those of a tensor
 * that is stored row by row. */
static void draw_strided(struct tc_strbuf *out, const struct tc_graph *g, const struct tc_tensor *x) {
  int order[TC_MAX_DIMS], place[TC_MAX_DIMS];
  int64_t stored[TC_MAX_DIMS], kept[TC_MAX_DIMS];
  order_dims(x, order);
  int64_t below = 1;
  bool expands = false, fits = true;
  for (int i = x->ndim - 1; i >= 0; i--) {
    const int d = order[i];
    place[d] = i;
    kept[i] = x->strides[d] ? x->sizes[d] : 1;
    stored[i] = kept[i];
    expands |= !x->strides[d] && x->sizes[d] != 1;
    if (kept[i] == 1) continue;
    if (x->strides[d] % below)
      fits = false;
    else if (x->strides[d] != below && i + 1 < x->ndim)
      stored[i + 1] *= x->strides[d] / below; /* the gap belongs to the next one */
    else if (x->strides[d] != below)
      fits = false;
    below = x->strides[d] * x->sizes[d];
  }
  if (!fits || tc_tensor_is_contiguous(x) || !tc_tensor_numel(x)) {
    draw(out, g, x->dtype, x->ndim, x->sizes);
    return;
  }
  tc_strbuf_puts(out, "(");
  draw(out, g, x->dtype, x->ndim, stored);
  tc_strbuf_puts(out, ")");
  for (int i = 0; i < x->ndim; i++)
    if (stored[i] != kept[i]) tc_strbuf_printf(out, ":narrow(%d, 1, %lld)", i + 1, (long long)kept[i]);
  tc_strbuf_puts(out, ":permute({");
  for (int d = 0; d < x->ndim; d++) tc_strbuf_printf(out, "%s%d", d ? ", " : "", place[d] + 1);
  tc_strbuf_puts(out, "})");
  if (!expands) return;
  tc_strbuf_puts(out, ":expand(");
  put_sizes(out, x->ndim, x->sizes);
  tc_strbuf_puts(out, ")");
}

static void put_input(struct tc_strbuf *out, const struct tc_graph *g, const struct tc_node *node,
                      const struct tc_tensor *given) {
  if (written_out(given)) {
    write_out(out, given);
    return;
  }
  struct tc_tensor like = {.dtype = node->meta.dtype, .ndim = node->meta.ndim};
  for (int d = 0; d < like.ndim; d++) {
    like.sizes[d] = tc_sym_hint(node->meta.sizes[d]);
    like.strides[d] = tc_sym_hint(node->strides[d]);
  }
  draw_strided(out, g, &like);
}

void tc_lua_debug_inputs(struct tc_strbuf *out, const struct tc_graph *graph,
                         const struct tc_tensor *const *inputs) {
  tc_strbuf_puts(out, "local function inputs()\n  tb.manual_seed(1)\n  return {\n");
  for (size_t i = 0; i < graph->inputs.len; i++) {
    tc_strbuf_puts(out, "    ");
    put_input(out, graph, graph->inputs.data[i], inputs ? inputs[i] : NULL);
    tc_strbuf_printf(out, ", -- %s\n", tc_dtype_name(graph->inputs.data[i]->meta.dtype));
  }
  tc_strbuf_puts(out, "  }\nend\n");
}
