/* Graphs as text. What is printed here, parse.c reads: keep them together. */
#include "ir/graph.h"

static void print_syms(struct tc_strbuf *out, int n, const tc_sym *syms) {
  tc_strbuf_puts(out, "[");
  for (int i = 0; i < n; i++) {
    if (i) tc_strbuf_puts(out, ", ");
    tc_sym_print(out, syms[i]);
  }
  tc_strbuf_puts(out, "]");
}

static void print_attrs(struct tc_strbuf *out, const struct tc_attrs *a) {
  if (a->n_ints) {
    tc_strbuf_puts(out, " ");
    print_syms(out, a->n_ints, a->ints);
  }
  if (!a->n_nums) return;
  tc_strbuf_puts(out, " (");
  for (int i = 0; i < a->n_nums; i++) tc_strbuf_printf(out, "%s%.17g", i ? ", " : "", a->nums[i]);
  tc_strbuf_puts(out, ")");
}

static void print_node(struct tc_strbuf *out, const struct tc_node *node, bool lines) {
  tc_strbuf_printf(out, "  v%d = %s", node->id, tc_op_row(node->op)->name);
  for (int i = 0; i < node->n_in; i++) tc_strbuf_printf(out, " v%d", node->in[i]->id);
  print_attrs(out, &node->attrs);
  tc_strbuf_printf(out, " : %s", tc_dtype_name(node->meta.dtype));
  print_syms(out, node->meta.ndim, node->meta.sizes);
  if (node->strides) {
    tc_strbuf_puts(out, " strides ");
    print_syms(out, node->meta.ndim, node->strides);
  }
  if (lines && node->line) tc_strbuf_printf(out, " -- line %d", node->line);
  tc_strbuf_puts(out, "\n");
}

static void print_graph(struct tc_strbuf *out, const struct tc_graph *g, bool lines) {
  tc_strbuf_puts(out, "graph {\n");
  for (size_t i = 0; i < g->nodes.len; i++) print_node(out, g->nodes.data[i], lines);
  tc_strbuf_puts(out, "  return");
  for (size_t i = 0; i < g->outputs.len; i++) tc_strbuf_printf(out, " v%d", g->outputs.data[i]->id);
  tc_strbuf_puts(out, "\n}\n");
}

void tc_graph_print(struct tc_strbuf *out, const struct tc_graph *g) { print_graph(out, g, true); }
void tc_graph_print_plain(struct tc_strbuf *out, const struct tc_graph *g) { print_graph(out, g, false); }
