/* A captured graph as a Lua function over the module's tensor functions: one statement a node (debug_ops.c).
 *
 * 1. Size variables are read from the inputs; one that is no size of an input has the value that it was
 *    captured with.
 * 2. Lua takes the function, however large the graph is: values and sizes that are too many for locals are
 *    fields of tables. */
#include "lua/inspect/debug_text.h"

enum { MOST_LOCALS = 75 }; /* of values, and of sizes: a Lua function has at most 200 in all */

/* "f32[8, 4], from file.lua:3". */
static void describe(const struct tc_lua_writer *w, const struct tc_node *node) {
  tc_strbuf_printf(w->out, "%s[", tc_dtype_name(node->meta.dtype));
  for (int d = 0; d < node->meta.ndim; d++) {
    if (d) tc_strbuf_puts(w->out, ", ");
    tc_sym_print(w->out, node->meta.sizes[d]);
  }
  tc_strbuf_puts(w->out, "]");
  if (node->line && node->source) tc_strbuf_printf(w->out, ", from %s:%d", node->source, node->line);
}

/* Where an input came from. */
static void input_comment(const struct tc_lua_writer *w, const struct compiled_entry *entry, int input) {
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

static void write_parameters(const struct tc_lua_writer *w, const struct compiled_entry *entry) {
  const struct tc_graph *g = w->graph;
  tc_strbuf_puts(w->out, "local function graph(");
  for (size_t i = 0; i < g->inputs.len && !w->in_table; i++) {
    if (i) tc_strbuf_puts(w->out, ", ");
    tc_lua_debug_name(w, g->inputs.data[i]);
  }
  tc_strbuf_puts(w->out, w->in_table ? "...)\n  local given, v = { ... }, {}\n" : ")\n");
  for (size_t i = 0; i < g->inputs.len; i++) {
    if (w->in_table)
      tc_strbuf_printf(w->out, "  v[%d] = given[%zu]  -- ", g->inputs.data[i]->id, i + 1);
    else
      tc_strbuf_printf(w->out, "  -- v%d: ", g->inputs.data[i]->id);
    describe(w, g->inputs.data[i]);
    input_comment(w, entry, (int)i);
    tc_strbuf_puts(w->out, "\n");
  }
}

/* The input and dimension that a size variable is; false: none. */
static bool write_size_of(const struct tc_lua_writer *w, int id) {
  for (size_t i = 0; i < w->graph->inputs.len; i++) {
    const struct tc_node *input = w->graph->inputs.data[i];
    for (int d = 0; d < input->meta.ndim; d++) {
      const tc_sym size = input->meta.sizes[d];
      if (tc_sym_is_const(size) || tc_sym_kind(size) != TC_SYM_SIZE || tc_sym_id(size) != id) continue;
      tc_lua_debug_name(w, input);
      tc_strbuf_printf(w->out, ":size(%d)", d + 1);
      return true;
    }
  }
  return false;
}

static void write_size_variables(const struct tc_lua_writer *w) {
  const int count = tc_symtab_sizes(w->graph->tab);
  if (count) tc_strbuf_puts(w->out, "  local min, max = math.min, math.max\n");
  const bool in_fields = count > MOST_LOCALS;
  if (in_fields) tc_strbuf_puts(w->out, "  local _ENV <const> = setmetatable({}, { __index = _ENV })\n");
  for (int id = 0; id < count; id++) {
    tc_strbuf_printf(w->out, "  %ss%d = ", in_fields ? "" : "local ", id);
    if (!write_size_of(w, id)) tc_strbuf_printf(w->out, "%lld", (long long)tc_symtab_hint(w->graph->tab, id));
    tc_strbuf_puts(w->out, "\n");
  }
}

void tc_lua_debug_function(struct tc_strbuf *out, const struct tc_graph *graph,
                           const struct compiled_entry *entry) {
  const struct tc_lua_writer w = {.out = out,
                                  .graph = graph,
                                  .in_table =
                                      graph->nodes.len > MOST_LOCALS || graph->outputs.len > MOST_LOCALS};
  write_parameters(&w, entry);
  write_size_variables(&w);
  for (size_t i = 0; i < graph->nodes.len; i++) {
    const struct tc_node *node = graph->nodes.data[i];
    if (node->op == TC_OP_input) continue;
    tc_strbuf_puts(out, w.in_table ? "  " : "  local ");
    tc_lua_debug_name(&w, node);
    tc_strbuf_puts(out, " = ");
    tc_lua_debug_value(&w, node);
    tc_strbuf_puts(out, "  -- ");
    describe(&w, node);
    tc_strbuf_puts(out, "\n");
  }
  tc_strbuf_puts(out, w.in_table ? "  return table.unpack({ " : "  return ");
  for (size_t i = 0; i < graph->outputs.len; i++) {
    if (i) tc_strbuf_puts(out, ", ");
    tc_lua_debug_name(&w, graph->outputs.data[i]);
  }
  tc_strbuf_puts(out, w.in_table ? " })\nend\n" : "\nend\n");
}
