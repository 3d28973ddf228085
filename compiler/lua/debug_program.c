/* A captured graph as a Lua function over the module's tensor functions.
 *
 * 1. One statement a node, and each gives the node again: operands have the dtypes that the front end cast them to, so it adds none.
 * 2. Dimensions and index values count from 1 in Lua, from 0 in the graph.
 * 3. Size variables are read from the inputs; one that is no size of an input has the value that it was captured with.
 * To add an operation whose tensor function has another name or other arguments: a row of `writers`. */
#include <math.h>
#include <string.h>

#include "lua/compiled_object.h"

enum { MOST_LOCALS = 120 }; /* a Lua function has at most 200; beyond this the values lie in a table */

struct writer { struct tc_strbuf *out; const struct tc_graph *graph; bool in_table; };

static void name(const struct writer *w, const struct tc_node *node) { tc_strbuf_printf(w->out, w->in_table ? "v[%d]" : "v%d", node->id); }

static void number(struct tc_strbuf *out, double value) {
  if (isnan(value)) tc_strbuf_puts(out, "(0/0)");
  else if (isinf(value)) tc_strbuf_puts(out, value < 0 ? "-math.huge" : "math.huge");
  else tc_strbuf_printf(out, "%.17g", value);
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
  for (int i = 0; i < count; i++) tc_strbuf_printf(out, "%s%lld", i ? ", " : "", (long long)tc_sym_value(items[i]) + 1);
  tc_strbuf_puts(out, "}");
}

static long long from_1(const struct tc_node *node, int attribute) { return (long long)tc_attr_int(&node->attrs, attribute) + 1; }
static const char *truth(const struct tc_node *node, int attribute) { return tc_attr_int(&node->attrs, attribute) ? "true" : "false"; }
static void dtype_option(const struct writer *w, const struct tc_node *node) { tc_strbuf_printf(w->out, "{dtype = \"%s\"}", tc_dtype_name(node->meta.dtype)); }

/* "tb.name(v1, v2", without its end. */
static void open_call(const struct writer *w, const char *function, const struct tc_node *node, int operands) {
  tc_strbuf_printf(w->out, "tb.%s(", function);
  for (int i = 0; i < operands; i++) {
    if (i) tc_strbuf_puts(w->out, ", ");
    name(w, node->in[i]);
  }
}

/* An operand by its place, or nil. */
static void optional(const struct writer *w, const struct tc_node *node, int place) {
  tc_strbuf_puts(w->out, ", ");
  if (place < node->n_in) name(w, node->in[place]);
  else tc_strbuf_puts(w->out, "nil");
}

/* --- operations --- */

static void write_plain(const struct writer *w, const struct tc_node *node) {
  open_call(w, tc_op_row(node->op)->name, node, node->n_in);
  tc_strbuf_puts(w->out, ")");
}

static void write_full(const struct writer *w, const struct tc_node *node) {
  const struct tc_attrs *a = &node->attrs;
  tc_strbuf_puts(w->out, "tb.full(");
  symbols(w->out, a->n_ints - 2, a->ints + 2);
  tc_strbuf_puts(w->out, ", ");
  if (tc_dtype_is_float(node->meta.dtype)) number(w->out, a->nums[0]);
  else if (node->meta.dtype == TC_BOOL) tc_strbuf_puts(w->out, truth(node, 1));
  else tc_sym_print(w->out, a->ints[1]);
  tc_strbuf_puts(w->out, ", ");
  dtype_option(w, node);
  tc_strbuf_puts(w->out, ")");
}

/* The end lies half a step behind the last number, so that rounding adds none. */
static void write_arange(const struct writer *w, const struct tc_node *node) {
  const double start = node->attrs.nums[0], step = node->attrs.nums[1];
  const bool whole = node->meta.dtype == TC_I64;
  tc_strbuf_puts(w->out, "tb.arange(");
  if (whole) tc_strbuf_printf(w->out, "%lld, %lld + (", (long long)start, (long long)start);
  else tc_strbuf_printf(w->out, "%.17g, %.17g + (", start, start);
  tc_sym_print(w->out, node->attrs.ints[1]);
  if (whole) tc_strbuf_printf(w->out, ") * %lld, %lld, ", (long long)step, (long long)step);
  else tc_strbuf_printf(w->out, " - 0.5) * %.17g, %.17g, ", step, step);
  dtype_option(w, node);
  tc_strbuf_puts(w->out, ")");
}

static void write_random(const struct writer *w, const struct tc_node *node) {
  tc_strbuf_printf(w->out, "tb.%s(", tc_op_row(node->op)->name);
  symbols(w->out, node->meta.ndim, node->meta.sizes);
  tc_strbuf_puts(w->out, ", ");
  dtype_option(w, node);
  tc_strbuf_puts(w->out, ")");
}

static void write_cast(const struct writer *w, const struct tc_node *node) {
  name(w, node->in[0]);
  tc_strbuf_printf(w->out, ":to(\"%s\")", tc_dtype_name(node->meta.dtype));
}

static void write_gelu_tanh(const struct writer *w, const struct tc_node *node) {
  open_call(w, "gelu", node, 1);
  tc_strbuf_puts(w->out, ", \"tanh\")");
}

static void write_reduction(const struct writer *w, const struct tc_node *node) {
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

static void write_argument(const struct writer *w, const struct tc_node *node) {
  open_call(w, tc_op_row(node->op)->name, node, 1);
  if (node->attrs.n_ints > 1) tc_strbuf_printf(w->out, ", %lld, %s", from_1(node, 1), truth(node, 0));
  tc_strbuf_puts(w->out, ") - 1");
}

static void write_along(const struct writer *w, const struct tc_node *node) { /* softmax, log_softmax, unsqueeze */
  open_call(w, tc_op_row(node->op)->name, node, 1);
  tc_strbuf_printf(w->out, ", %lld)", from_1(node, 0));
}

static void write_norm(const struct writer *w, const struct tc_node *node) {
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

static void write_sdpa(const struct writer *w, const struct tc_node *node) {
  open_call(w, "scaled_dot_product_attention", node, 3);
  optional(w, node, 3);
  tc_strbuf_printf(w->out, ", 0, %s, ", truth(node, 0));
  number(w->out, node->attrs.nums[0]);
  tc_strbuf_puts(w->out, ")");
}

static void write_sizes(const struct writer *w, const struct tc_node *node) { /* view, reshape, expand */
  name(w, node->in[0]);
  tc_strbuf_printf(w->out, ":%s(", tc_op_row(node->op)->name);
  symbols(w->out, node->meta.ndim, node->meta.sizes);
  tc_strbuf_puts(w->out, ")");
}

static void write_dims(const struct writer *w, const struct tc_node *node) { /* permute, flip, squeeze */
  name(w, node->in[0]);
  tc_strbuf_printf(w->out, ":%s(", tc_op_row(node->op)->name);
  dims(w->out, node->attrs.n_ints, node->attrs.ints);
  tc_strbuf_puts(w->out, ")");
}

/* ints: dim, start, length, step. */
static void write_slice(const struct writer *w, const struct tc_node *node) {
  const tc_sym *ints = node->attrs.ints;
  const bool narrow = tc_sym_is(ints[3], 1) || tc_sym_is(ints[2], 0);
  name(w, node->in[0]);
  tc_strbuf_printf(w->out, ":%s(%lld, ", narrow ? "narrow" : "slice", from_1(node, 0));
  tc_sym_print(w->out, ints[1]);
  tc_strbuf_puts(w->out, " + 1, ");
  if (!narrow) {
    tc_sym_print(w->out, ints[1]);
    tc_strbuf_puts(w->out, " + 1 + (");
  }
  tc_sym_print(w->out, ints[2]);
  if (!narrow) tc_strbuf_printf(w->out, " - 1) * %lld, %lld", (long long)tc_sym_value(ints[3]), (long long)tc_sym_value(ints[3]));
  tc_strbuf_puts(w->out, ")");
}

/* The graph has amounts from the first dimension on, the function from the last. */
static void write_pad(const struct writer *w, const struct tc_node *node) {
  tc_strbuf_puts(w->out, "tb.nn.functional.pad(");
  name(w, node->in[0]);
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

static void write_cat(const struct writer *w, const struct tc_node *node) {
  tc_strbuf_puts(w->out, "tb.cat({");
  for (int i = 0; i < node->n_in; i++) {
    if (i) tc_strbuf_puts(w->out, ", ");
    name(w, node->in[i]);
  }
  tc_strbuf_printf(w->out, "}, %lld)", from_1(node, 0));
}

static void write_diagonal(const struct writer *w, const struct tc_node *node) {
  open_call(w, tc_op_row(node->op)->name, node, 1);
  tc_strbuf_puts(w->out, ", ");
  tc_sym_print(w->out, node->attrs.ints[0]);
  tc_strbuf_puts(w->out, ")");
}

static void write_embedding(const struct writer *w, const struct tc_node *node) {
  tc_strbuf_puts(w->out, "tb.nn.functional.embedding(");
  name(w, node->in[1]);
  tc_strbuf_puts(w->out, " + 1, ");
  name(w, node->in[0]);
  tc_strbuf_puts(w->out, ")");
}

static void write_by_index(const struct writer *w, const struct tc_node *node) { /* gather, index_select */
  open_call(w, tc_op_row(node->op)->name, node, 1);
  tc_strbuf_printf(w->out, ", %lld, ", from_1(node, 0));
  name(w, node->in[1]);
  tc_strbuf_puts(w->out, " + 1)");
}

static const struct { tc_op op; void (*write)(const struct writer *w, const struct tc_node *node); } writers[] = {
    {TC_OP_full, write_full},           {TC_OP_arange, write_arange},       {TC_OP_rand, write_random},         {TC_OP_randn, write_random},
    {TC_OP_cast, write_cast},           {TC_OP_gelu_tanh, write_gelu_tanh}, {TC_OP_sum, write_reduction},       {TC_OP_prod, write_reduction},
    {TC_OP_amax, write_reduction},      {TC_OP_amin, write_reduction},      {TC_OP_any, write_reduction},       {TC_OP_all, write_reduction},
    {TC_OP_mean, write_reduction},      {TC_OP_var, write_reduction},       {TC_OP_logsumexp, write_reduction}, {TC_OP_argmax, write_argument},
    {TC_OP_argmin, write_argument},     {TC_OP_softmax, write_along},       {TC_OP_log_softmax, write_along},   {TC_OP_layer_norm, write_norm},
    {TC_OP_rms_norm, write_norm},       {TC_OP_sdpa, write_sdpa},           {TC_OP_view, write_sizes},          {TC_OP_reshape, write_sizes},
    {TC_OP_expand, write_sizes},        {TC_OP_permute, write_dims},        {TC_OP_flip, write_dims},           {TC_OP_squeeze, write_dims},
    {TC_OP_unsqueeze, write_along},     {TC_OP_slice, write_slice},         {TC_OP_pad, write_pad},             {TC_OP_cat, write_cat},
    {TC_OP_tril, write_diagonal},       {TC_OP_triu, write_diagonal},       {TC_OP_embedding, write_embedding}, {TC_OP_gather, write_by_index},
    {TC_OP_index_select, write_by_index},
};

static void write_value(const struct writer *w, const struct tc_node *node) {
  for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
    if (writers[i].op == node->op) {
      writers[i].write(w, node);
      return;
    }
  write_plain(w, node);
}

/* --- the function --- */

/* "f32[8, 4], from file.lua:3". */
static void describe(const struct writer *w, const struct tc_node *node) {
  tc_strbuf_printf(w->out, "%s[", tc_dtype_name(node->meta.dtype));
  for (int d = 0; d < node->meta.ndim; d++) {
    if (d) tc_strbuf_puts(w->out, ", ");
    tc_sym_print(w->out, node->meta.sizes[d]);
  }
  tc_strbuf_puts(w->out, "]");
  if (node->line && node->source) tc_strbuf_printf(w->out, ", from %s:%d", node->source, node->line);
}

/* Where an input came from. */
static void input_comment(const struct writer *w, const struct compiled_entry *entry, int input) {
  int tensor = input;
  for (int i = 0; i < entry->n_scalars; i++) {
    if (entry->scalars[i].input == input) {
      tc_strbuf_puts(w->out, ", a number of the call");
      return;
    }
    tensor -= entry->scalars[i].input < input;
  }
  tc_strbuf_puts(w->out, ", ");
  tc_guards_input_text(entry->guards, tensor, w->out);
}

static void write_parameters(const struct writer *w, const struct compiled_entry *entry) {
  const struct tc_graph *g = w->graph;
  tc_strbuf_puts(w->out, "local function graph(");
  for (size_t i = 0; i < g->inputs.len && !w->in_table; i++) {
    if (i) tc_strbuf_puts(w->out, ", ");
    name(w, g->inputs.data[i]);
  }
  tc_strbuf_puts(w->out, w->in_table ? "...)\n  local given, v = { ... }, {}\n" : ")\n");
  for (size_t i = 0; i < g->inputs.len; i++) {
    if (w->in_table) tc_strbuf_printf(w->out, "  v[%d] = given[%zu]  -- ", g->inputs.data[i]->id, i + 1);
    else tc_strbuf_printf(w->out, "  -- v%d: ", g->inputs.data[i]->id);
    describe(w, g->inputs.data[i]);
    input_comment(w, entry, (int)i);
    tc_strbuf_puts(w->out, "\n");
  }
}

/* The input and dimension that a size variable is; false: none. */
static bool write_size_of(const struct writer *w, int id) {
  for (size_t i = 0; i < w->graph->inputs.len; i++) {
    const struct tc_node *input = w->graph->inputs.data[i];
    for (int d = 0; d < input->meta.ndim; d++) {
      const tc_sym size = input->meta.sizes[d];
      if (tc_sym_is_const(size) || tc_sym_kind(size) != TC_SYM_SIZE || tc_sym_id(size) != id) continue;
      name(w, input);
      tc_strbuf_printf(w->out, ":size(%d)", d + 1);
      return true;
    }
  }
  return false;
}

static void write_size_variables(const struct writer *w) {
  const int count = tc_symtab_sizes(w->graph->tab);
  if (count) tc_strbuf_puts(w->out, "  local min, max = math.min, math.max\n");
  for (int id = 0; id < count; id++) {
    tc_strbuf_printf(w->out, "  local s%d = ", id);
    if (!write_size_of(w, id)) tc_strbuf_printf(w->out, "%lld", (long long)tc_symtab_hint(w->graph->tab, id));
    tc_strbuf_puts(w->out, "\n");
  }
}

void tc_lua_debug_function(struct tc_strbuf *out, const struct tc_graph *graph, const struct compiled_entry *entry) {
  const struct writer w = {.out = out, .graph = graph, .in_table = graph->nodes.len > MOST_LOCALS || graph->outputs.len > MOST_LOCALS};
  write_parameters(&w, entry);
  write_size_variables(&w);
  for (size_t i = 0; i < graph->nodes.len; i++) {
    const struct tc_node *node = graph->nodes.data[i];
    if (node->op == TC_OP_input) continue;
    tc_strbuf_puts(out, w.in_table ? "  " : "  local ");
    name(&w, node);
    tc_strbuf_puts(out, " = ");
    write_value(&w, node);
    tc_strbuf_puts(out, "  -- ");
    describe(&w, node);
    tc_strbuf_puts(out, "\n");
  }
  tc_strbuf_puts(out, w.in_table ? "  return table.unpack({ " : "  return ");
  for (size_t i = 0; i < graph->outputs.len; i++) {
    if (i) tc_strbuf_puts(out, ", ");
    name(&w, graph->outputs.data[i]);
  }
  tc_strbuf_puts(out, w.in_table ? " })\nend\n" : "\nend\n");
}
