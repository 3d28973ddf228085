/* Decomposition of a captured graph.
 *
 * Invariants: 1. Afterwards no operation with a rule is left: what a rule emits is decomposed in turn.
 * 2. Inputs, outputs, and the number and order of random draws are those of the captured graph.
 * 3. The new nodes bear the source line of the operation they come from.
 * The uses that say which nodes are dead are counted as nodes are emitted, and dead nodes are taken out in
 * place. Off (opt.fused_passes): uses are counted by a walk of their own. Off (opt.inplace_dce): the graph is
 * copied without its dead nodes. A new decomposition: name it in ops.def, declare it in rules.h, write it
 * beside its kind. */
#include "decomp/decomp.h"

#include "decomp/rules.h"

enum { MAX_DEPTH = 8 }; /* rules emit composites a few levels deep; more is a rule that calls itself */

static const struct {
  tc_decomp_rule rule;
} rule_rows[] = {
#define tc_decomp_NONE                                                    NULL
#define TC_OP(name, arity, shape, dtype, eager, vjp, decomp, lower, KIND) {tc_decomp_##decomp},
#include "ops/ops.def"
#undef TC_OP
#undef tc_decomp_NONE
};

tc_decomp_rule tc_decomp_rule_of(tc_op op) { return rule_rows[op].rule; }

/* A builder over the graph builder that decomposes what it is asked to emit. */
struct decomposer {
  struct tc_builder builder;
  struct tc_graph_builder graph;
  int depth;
  bool counts_uses;
};

static tc_status emit(struct tc_builder *b, tc_op op, int n_in, struct tc_value *const *in,
                      const struct tc_attrs *attrs, struct tc_value **out, struct tc_error *err) {
  struct decomposer *d = (struct decomposer *)b;
  static const struct tc_attrs none = {0};
  const tc_decomp_rule rule = tc_decomp_rule_of(op);
  if (!rule) {
    const tc_status status = tc_emit(&d->graph.builder, op, n_in, in, attrs, out, err);
    for (int i = 0; i < n_in && d->counts_uses && !status; i++) tc_node_of(in[i])->uses++;
    return status;
  }
  if (d->depth == MAX_DEPTH)
    return tc_fail(err, TC_LIMIT, "decomp", "%s: its decomposition is nested too deeply",
                   tc_op_row(op)->name);
  struct tc_rule r = {b, TC_OK, err};
  d->depth++;
  *out = rule(&r, n_in, in, attrs ? attrs : &none);
  d->depth--;
  if (r.status || *out) return r.status;
  return tc_fail(err, TC_ARG, "decomp", "%s: its decomposition gives nothing for these operands",
                 tc_op_row(op)->name);
}

static void meta(struct tc_builder *b, const struct tc_value *value, struct tc_meta *out) {
  tc_value_meta(&((struct decomposer *)b)->graph.builder, value, out);
}

static const struct tc_builder_methods decomposer_methods = {.emit = emit, .meta = meta};

/* Node `old` in the new graph; `made` has what its operands became. */
static tc_status rewrite(struct decomposer *d, const struct tc_node *old, struct tc_value *const *made,
                         struct tc_value **out, struct tc_error *err) {
  struct tc_value *in[TC_MAX_INPUTS];
  if (old->op == TC_OP_input) {
    struct tc_node *node = tc_graph_input(d->graph.graph, &old->meta, old->strides);
    if (!node) return tc_fail_memory(err, "decomp");
    node->line = old->line;
    node->source = old->source;
    *out = tc_value_of(node);
    return TC_OK;
  }
  for (int i = 0; i < old->n_in; i++) in[i] = made[old->in[i]->id];
  d->graph.line = old->line;
  d->graph.source = old->source;
  const tc_status status = tc_emit(&d->builder, old->op, old->n_in, in, &old->attrs, out, err);
  if (status) return status;
  if (tc_op_row(old->op)->kind == TC_KIND_RANDOM) tc_node_of(*out)->draw = old->draw;
  if (old->op == TC_OP_matmul) tc_node_of(*out)->product = old->product; /* primitive */
  return TC_OK;
}

static tc_status rewrite_all(struct decomposer *d, const struct tc_graph *g, struct tc_error *err) {
  struct tc_graph *to = d->graph.graph;
  struct tc_value **made = TC_NEW_ARRAY(tc_arena_alloc(g->arena), struct tc_value *, g->nodes.len + 1);
  if (!made) return tc_fail_memory(err, "decomp");
  for (size_t i = 0; i < g->nodes.len; i++) {
    const tc_status status = rewrite(d, g->nodes.data[i], made, &made[i], err);
    if (status) return status;
  }
  for (size_t i = 0; i < g->outputs.len; i++) {
    struct tc_node *node = tc_node_of(made[g->outputs.data[i]->id]);
    if (!tc_graph_output(to, node)) return tc_fail_memory(err, "decomp");
    node->uses += d->counts_uses;
  }
  to->draws = g->draws;
  return TC_OK;
}

tc_status tc_decompose(struct tc_graph *g, const struct tc_config *config, struct tc_graph **out,
                       struct tc_error *err) {
  struct decomposer d = {.builder = {.methods = &decomposer_methods, .tab = g->tab, .default_dtype = TC_F32},
                         .counts_uses = config->opt_fused_passes};
  struct tc_graph *to = tc_graph_sibling(g);
  if (!to) return tc_fail_memory(err, "decomp");
  tc_graph_builder_init(&d.graph, to);
  const tc_status status = rewrite_all(&d, g, err);
  if (status) return status;
  if (!d.counts_uses) tc_graph_count_uses(to);
  if (config->opt_inplace_dce)
    tc_graph_remove_unused(to);
  else if (!(to = tc_graph_without_unused(to)))
    return tc_fail_memory(err, "decomp");
  *out = to;
  return TC_OK;
}
