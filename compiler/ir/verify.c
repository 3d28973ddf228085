/* What holds of a graph between stages. One function a rule; a spec is a set of rules.
 * To add a rule: write it, and name it in the specs that it belongs to. */
#include "ir/graph.h"

#include <string.h>

typedef tc_status (*rule)(const struct tc_graph *g, const struct tc_node *node, struct tc_error *err);

static tc_status bad(const struct tc_node *node, struct tc_error *err, const char *what) {
  return tc_fail(err, TC_VERIFY, "ir", "v%d = %s: %s", node->id, tc_op_row(node->op)->name, what);
}

static tc_status ordered(const struct tc_graph *g, const struct tc_node *node, struct tc_error *err) {
  for (int i = 0; i < node->n_in; i++) {
    const struct tc_node *in = node->in[i];
    if (in->id >= node->id || g->nodes.data[in->id] != in)
      return bad(node, err, "an operand does not stand before it");
  }
  return TC_OK;
}

static tc_status arity(const struct tc_graph *g, const struct tc_node *node, struct tc_error *err) {
  (void)g;
  const int expected = tc_op_row(node->op)->arity;
  return expected == TC_VARIADIC || expected == node->n_in ? TC_OK
                                                           : bad(node, err, "wrong number of operands");
}

static tc_status inferred(const struct tc_graph *g, const struct tc_node *node, struct tc_error *err) {
  if (node->op == TC_OP_input) return node->strides ? TC_OK : bad(node, err, "an input without strides");
  const struct tc_meta *metas[TC_MAX_INPUTS];
  for (int i = 0; i < node->n_in; i++) metas[i] = &node->in[i]->meta;
  struct tc_meta meta;
  const tc_status status = tc_op_infer(g->tab, node->op, node->n_in, metas, &node->attrs, &meta, err);
  if (status) return status;
  bool same = meta.dtype == node->meta.dtype && meta.ndim == node->meta.ndim;
  for (int i = 0; same && i < meta.ndim; i++) same = tc_sym_same(meta.sizes[i], node->meta.sizes[i]);
  return same ? TC_OK : bad(node, err, "its shape or dtype is not what its rules infer");
}

static tc_status functional(const struct tc_graph *g, const struct tc_node *node, struct tc_error *err) {
  (void)g;
  return tc_op_row(node->op)->kind == TC_KIND_MUTATE
             ? bad(node, err, "a graph has no operation that writes its operand")
             : TC_OK;
}

/* The decomposition column of ops.def. */
static const char *const decompositions[] = {
#define TC_OP(name, arity, shape, dtype, eager, vjp, decomp, lower, KIND) #decomp,
#include "ops/ops.def"
#undef TC_OP
};

static tc_status primitive(const struct tc_graph *g, const struct tc_node *node, struct tc_error *err) {
  (void)g;
  return strcmp(decompositions[node->op], "NONE") ? bad(node, err, "it should have been decomposed") : TC_OK;
}

static const rule captured_rules[] = {ordered, arity, inferred, functional, NULL};
static const rule decomposed_rules[] = {ordered, arity, inferred, functional, primitive, NULL};
static const rule *const specs[] = {
    [TC_SPEC_CAPTURED] = captured_rules, [TC_SPEC_DECOMPOSED] = decomposed_rules};

tc_status tc_graph_verify(const struct tc_graph *g, enum tc_graph_spec spec, struct tc_error *err) {
  for (size_t i = 0; i < g->nodes.len; i++) {
    if (g->nodes.data[i]->id != (int)i) return bad(g->nodes.data[i], err, "its number is not its place");
    for (const rule *r = specs[spec]; *r; r++) {
      const tc_status status = (*r)(g, g->nodes.data[i], err);
      if (status) return status;
    }
  }
  for (size_t i = 0; i < g->outputs.len; i++) {
    const struct tc_node *out = g->outputs.data[i];
    if (out->id >= (int)g->nodes.len || g->nodes.data[out->id] != out)
      return bad(out, err, "a result is not of this graph");
  }
  return TC_OK;
}
