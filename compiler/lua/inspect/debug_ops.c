/* A node of a captured graph as an expression of Lua.
 *
 * 1. It gives the node again: operands have the dtypes that the front end cast them to, so it adds none.
 * 2. Dimensions and index values count from 1 in Lua, from 0 in the graph.
 * To add an operation whose tensor function has another name or other arguments: a row of `writers`. */
#include "lua/inspect/debug_text.h"

#include <math.h>

void tc_lua_debug_name(const struct tc_lua_writer *w, const struct tc_node *node) {
  tc_strbuf_printf(w->out, w->in_table ? "v[%d]" : "v%d", node->id);
}

static void number(struct tc_strbuf *out, double value) {
  if (isnan(value))
    tc_strbuf_puts(out, "(0/0)");
  else if (isinf(value))
    tc_strbuf_puts(out, value < 0 ? "-math.huge" : "math.huge");
  else
    tc_strbuf_printf(out, "%.17g", value);
}

/* Symbols as Lua: min and max are locals of the function. */
static void symbols(struct tc_strbuf *out, int count, const tc_sym *items) {
  tc_strbuf_puts(out, "{");
  for (int i = 0; i < count; i++) {
    if (i) tc_strbuf_puts(out, ", ");
    tc_sym_print(out, items[i]);
  }
  tc_strbuf_puts(out, "}");
}

static void dims(struct tc_strbuf *out, int count, const tc_sym *items) {
  tc_strbuf_puts(out, "{");
  for (int i = 0; i < count; i++)
    tc_strbuf_printf(out, "%s%lld", i ? ", " : "", (long long)tc_sym_value(items[i]) + 1);
  tc_strbuf_puts(out, "}");
}

static long long from_1(const struct tc_node *node, int attribute) {
  return (long long)tc_attr_int(&node->attrs, attribute) + 1;
}
static const char *truth(const struct tc_node *node, int attribute) {
  return tc_attr_int(&node->attrs, attribute) ? "true" : "false";
}
static void dtype_option(const struct tc_lua_writer *w, const struct tc_node *node) {
  tc_strbuf_printf(w->out, "{dtype = \"%s\"}", tc_dtype_name(node->meta.dtype));
}

/* "tb.name(v1, v2", without its end. */
static void open_call(const struct tc_lua_writer *w, const char *function, const struct tc_node *node,
                      int operands) {
  tc_strbuf_printf(w->out, "tb.%s(", function);
  for (int i = 0; i < operands; i++) {
    if (i) tc_strbuf_puts(w->out, ", ");
    tc_lua_debug_name(w, node->in[i]);
  }
}

/* An operand by its place, or nil. */
static void optional(const struct tc_lua_writer *w, const struct tc_node *node, int place) {
  tc_strbuf_puts(w->out, ", ");
  if (place < node->n_in)
    tc_lua_debug_name(w, node->in[place]);
  else
    tc_strbuf_puts(w->out, "nil");
}

/* --- operations --- */

static void write_plain(const struct tc_lua_writer *w, const struct tc_node *node) {
  open_call(w, tc_op_row(node->op)->name, node, node->n_in);
  tc_strbuf_puts(w->out, ")");
}

static void write_full(const struct tc_lua_writer *w, const struct tc_node *node) {
  const struct tc_attrs *a = &node->attrs;
  tc_strbuf_puts(w->out, "tb.full(");
  symbols(w->out, a->n_ints - 2, a->ints + 2);
  tc_strbuf_puts(w->out, ", ");
  if (tc_dtype_is_float(node->meta.dtype))
    number(w->out, a->nums[0]);
  else if (node->meta.dtype == TC_BOOL)
    tc_strbuf_puts(w->out, truth(node, 1));
  else
    tc_sym_print(w->out, a->ints[1]);
  tc_strbuf_puts(w->out, ", ");
  dtype_option(w, node);
  tc_strbuf_puts(w->out, ")");
}

/* The end lies half a step behind the last number, so that rounding adds none. */
static void write_arange(const struct tc_lua_writer *w, const struct tc_node *node) {
  const double start = node->attrs.nums[0], step = node->attrs.nums[1];
  const bool whole = node->meta.dtype == TC_I64;
  tc_strbuf_puts(w->out, "tb.arange(");
  if (whole)
    tc_strbuf_printf(w->out, "%lld, %lld + (", (long long)start, (long long)start);
  else
    tc_strbuf_printf(w->out, "%.17g, %.17g + (", start, start);
  tc_sym_print(w->out, node->attrs.ints[1]);
  if (whole)
    tc_strbuf_printf(w->out, ") * %lld, %lld, ", (long long)step, (long long)step);
  else
    tc_strbuf_printf(w->out, " - 0.5) * %.17g, %.17g, ", step, step);
  dtype_option(w, node);
  tc_strbuf_puts(w->out, ")");
}

static void write_random(const struct tc_lua_writer *w, const struct tc_node *node) {
  tc_strbuf_printf(w->out, "tb.%s(", tc_op_row(node->op)->name);
  symbols(w->out, node->meta.ndim, node->meta.sizes);
  tc_strbuf_puts(w->out, ", ");
  dtype_option(w, node);
  tc_strbuf_puts(w->out, ")");
}

static void write_cast(const struct tc_lua_writer *w, const struct tc_node *node) {
  tc_lua_debug_name(w, node->in[0]);
  tc_strbuf_printf(w->out, ":to(\"%s\")", tc_dtype_name(node->meta.dtype));
}

static void write_gelu_tanh(const struct tc_lua_writer *w, const struct tc_node *node) {
  open_call(w, "gelu", node, 1);
  tc_strbuf_puts(w->out, ", \"tanh\")");
}

static void write_reduction(const struct tc_lua_writer *w, const struct tc_node *node) {
  const struct tc_attrs *a = &node->attrs;
  open_call(w, tc_op_row(node->op)->name, node, 1);
  if (a->n_ints > 1) {
    tc_strbuf_puts(w->out, ", ");
    dims(w->out, a->n_ints - 1, a->ints + 1);
    tc_strbuf_printf(w->out, ", %s", truth(node, 0));
  }
  if (node->op == TC_OP_var) {
    if (a->n_ints == 1) tc_strbuf_puts(w->out, ", nil, nil");
    tc_strbuf_puts(w->out, ", ");
    number(w->out, a->nums[0]);
  }
  tc_strbuf_puts(w->out, ")");
}

static void write_argument(const struct tc_lua_writer *w, const struct tc_node *node) {
  open_call(w, tc_op_row(node->op)->name, node, 1);
  if (node->attrs.n_ints > 1) tc_strbuf_printf(w->out, ", %lld, %s", from_1(node, 1), truth(node, 0));
  tc_strbuf_puts(w->out, ") - 1");
}

static void write_along(const struct tc_lua_writer *w,
                        const struct tc_node *node) { /* softmax, log_softmax, unsqueeze */
  open_call(w, tc_op_row(node->op)->name, node, 1);
  tc_strbuf_printf(w->out, ", %lld)", from_1(node, 0));
}

static void write_norm(const struct tc_lua_writer *w, const struct tc_node *node) {
  const int count = (int)tc_attr_int(&node->attrs, 0);
  const bool has_weight = tc_attr_int(&node->attrs, 1), has_bias = tc_attr_int(&node->attrs, 2);
  open_call(w, tc_op_row(node->op)->name, node, 1);
  tc_strbuf_puts(w->out, ", ");
  symbols(w->out, count, node->meta.sizes + node->meta.ndim - count);
  optional(w, node, has_weight ? 1 : node->n_in);
  if (node->op == TC_OP_layer_norm) optional(w, node, has_bias ? 1 + has_weight : node->n_in);
  tc_strbuf_puts(w->out, ", ");
  number(w->out, node->attrs.nums[0]);
  tc_strbuf_puts(w->out, ")");
}

static void write_sdpa(const struct tc_lua_writer *w, const struct tc_node *node) {
  open_call(w, "scaled_dot_product_attention", node, 3);
  optional(w, node, 3);
  tc_strbuf_printf(w->out, ", 0, %s, ", truth(node, 0));
  number(w->out, node->attrs.nums[0]);
  tc_strbuf_puts(w->out, ")");
}

static void write_sizes(const struct tc_lua_writer *w,
                        const struct tc_node *node) { /* view, reshape, expand */
  tc_lua_debug_name(w, node->in[0]);
  tc_strbuf_printf(w->out, ":%s(", tc_op_row(node->op)->name);
  symbols(w->out, node->meta.ndim, node->meta.sizes);
  tc_strbuf_puts(w->out, ")");
}

static void write_dims(const struct tc_lua_writer *w,
                       const struct tc_node *node) { /* permute, flip, squeeze */
  tc_lua_debug_name(w, node->in[0]);
  tc_strbuf_printf(w->out, ":%s(", tc_op_row(node->op)->name);
  dims(w->out, node->attrs.n_ints, node->attrs.ints);
  tc_strbuf_puts(w->out, ")");
}

/* ints: dim, start, length, step. */
static void write_slice(const struct tc_lua_writer *w, const struct tc_node *node) {
  const tc_sym *ints = node->attrs.ints;
  const bool narrow = tc_sym_is(ints[3], 1) || tc_sym_is(ints[2], 0);
  tc_lua_debug_name(w, node->in[0]);
  tc_strbuf_printf(w->out, ":%s(%lld, ", narrow ? "narrow" : "slice", from_1(node, 0));
  tc_sym_print(w->out, ints[1]);
  tc_strbuf_puts(w->out, " + 1, ");
  if (!narrow) {
    tc_sym_print(w->out, ints[1]);
    tc_strbuf_puts(w->out, " + 1 + (");
  }
  tc_sym_print(w->out, ints[2]);
  if (!narrow)
    tc_strbuf_printf(w->out, " - 1) * %lld, %lld", (long long)tc_sym_value(ints[3]),
                     (long long)tc_sym_value(ints[3]));
  tc_strbuf_puts(w->out, ")");
}

/* The graph has amounts from the first dimension on, the function from the last. */
static void write_pad(const struct tc_lua_writer *w, const struct tc_node *node) {
  tc_strbuf_puts(w->out, "tb.nn.functional.pad(");
  tc_lua_debug_name(w, node->in[0]);
  tc_strbuf_puts(w->out, ", {");
  for (int d = node->meta.ndim - 1; d >= 0; d--) {
    tc_sym_print(w->out, node->attrs.ints[2 * d]);
    tc_strbuf_puts(w->out, ", ");
    tc_sym_print(w->out, node->attrs.ints[2 * d + 1]);
    if (d) tc_strbuf_puts(w->out, ", ");
  }
  tc_strbuf_puts(w->out, "}, \"constant\", ");
  number(w->out, node->attrs.nums[0]);
  tc_strbuf_puts(w->out, ")");
}

static void write_cat(const struct tc_lua_writer *w, const struct tc_node *node) {
  tc_strbuf_puts(w->out, "tb.cat({");
  for (int i = 0; i < node->n_in; i++) {
    if (i) tc_strbuf_puts(w->out, ", ");
    tc_lua_debug_name(w, node->in[i]);
  }
  tc_strbuf_printf(w->out, "}, %lld)", from_1(node, 0));
}

static void write_diagonal(const struct tc_lua_writer *w, const struct tc_node *node) {
  open_call(w, tc_op_row(node->op)->name, node, 1);
  tc_strbuf_puts(w->out, ", ");
  tc_sym_print(w->out, node->attrs.ints[0]);
  tc_strbuf_puts(w->out, ")");
}

static void write_embedding(const struct tc_lua_writer *w, const struct tc_node *node) {
  tc_strbuf_puts(w->out, "tb.nn.functional.embedding(");
  tc_lua_debug_name(w, node->in[1]);
  tc_strbuf_puts(w->out, " + 1, ");
  tc_lua_debug_name(w, node->in[0]);
  tc_strbuf_puts(w->out, ")");
}

static void write_by_index(const struct tc_lua_writer *w,
                           const struct tc_node *node) { /* gather, index_select */
  open_call(w, tc_op_row(node->op)->name, node, 1);
  tc_strbuf_printf(w->out, ", %lld, ", from_1(node, 0));
  tc_lua_debug_name(w, node->in[1]);
  tc_strbuf_puts(w->out, " + 1)");
}

static const struct {
  tc_op op;
  void (*write)(const struct tc_lua_writer *w, const struct tc_node *node);
} writers[] = {
    {TC_OP_full, write_full},
    {TC_OP_arange, write_arange},
    {TC_OP_rand, write_random},
    {TC_OP_randn, write_random},
    {TC_OP_cast, write_cast},
    {TC_OP_gelu_tanh, write_gelu_tanh},
    {TC_OP_sum, write_reduction},
    {TC_OP_prod, write_reduction},
    {TC_OP_amax, write_reduction},
    {TC_OP_amin, write_reduction},
    {TC_OP_any, write_reduction},
    {TC_OP_all, write_reduction},
    {TC_OP_mean, write_reduction},
    {TC_OP_var, write_reduction},
    {TC_OP_logsumexp, write_reduction},
    {TC_OP_argmax, write_argument},
    {TC_OP_argmin, write_argument},
    {TC_OP_softmax, write_along},
    {TC_OP_log_softmax, write_along},
    {TC_OP_layer_norm, write_norm},
    {TC_OP_rms_norm, write_norm},
    {TC_OP_sdpa, write_sdpa},
    {TC_OP_view, write_sizes},
    {TC_OP_reshape, write_sizes},
    {TC_OP_expand, write_sizes},
    {TC_OP_permute, write_dims},
    {TC_OP_flip, write_dims},
    {TC_OP_squeeze, write_dims},
    {TC_OP_unsqueeze, write_along},
    {TC_OP_slice, write_slice},
    {TC_OP_pad, write_pad},
    {TC_OP_cat, write_cat},
    {TC_OP_tril, write_diagonal},
    {TC_OP_triu, write_diagonal},
    {TC_OP_embedding, write_embedding},
    {TC_OP_gather, write_by_index},
    {TC_OP_index_select, write_by_index},
};

void tc_lua_debug_value(const struct tc_lua_writer *w, const struct tc_node *node) {
  for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
    if (writers[i].op == node->op) {
      writers[i].write(w, node);
      return;
    }
  write_plain(w, node);
}
