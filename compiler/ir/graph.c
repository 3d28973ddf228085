/* Building of graphs, liveness, and the recording builder.
 *
 * 1. A node's operands stand before it. 2. A meta is always what the operation's rules infer.
 * 3. Nothing is shared between graphs except an arena and its symbols. */
#include "ir/graph.h"

#include <string.h>

struct tc_graph *tc_graph_new(struct tc_arena *arena) {
  struct tc_graph *g = TC_NEW(tc_arena_alloc(arena), struct tc_graph);
  if (!g) return NULL;
  g->arena = arena;
  g->tab = tc_symtab_new(tc_arena_alloc(arena));
  return g->tab ? g : NULL;
}

static void *copy(struct tc_arena *arena, const void *data, size_t bytes) {
  void *block = tc_arena_bytes(arena, bytes);
  if (block && bytes) memcpy(block, data, bytes);
  return block;
}

static bool append(struct tc_graph *g, struct tc_node *node) {
  node->id = (int)g->nodes.len;
  return tc_vec_push(tc_arena_alloc(g->arena), &g->nodes, node);
}

/* Copies to *at, which goes on behind the copy. */
static void *put(char **at, const void *data, size_t bytes) {
  void *copied = *at;
  if (bytes) memcpy(copied, data, bytes);
  *at += bytes;
  return copied;
}

/* A node, its operands and its attributes in one block: graphs are long, and what a node takes of memory is
 * what they cost. */
static struct tc_node *new_node(struct tc_graph *g, tc_op op, int n_in, struct tc_node *const *in,
                                const struct tc_attrs *attrs) {
  static const struct tc_attrs none;
  if (!attrs) attrs = &none;
  const size_t in_bytes = sizeof *in * (size_t)n_in, ints_bytes = sizeof *attrs->ints * (size_t)attrs->n_ints,
               nums_bytes = sizeof *attrs->nums * (size_t)attrs->n_nums;
  struct tc_node *node = tc_arena_bytes(g->arena, sizeof *node + in_bytes + ints_bytes + nums_bytes);
  if (!node) return NULL;
  char *at = (char *)(node + 1);
  *node = (struct tc_node){.op = op, .n_in = n_in, .attrs = *attrs};
  node->in = put(&at, in, in_bytes);
  node->attrs.ints = put(&at, attrs->ints, ints_bytes);
  node->attrs.nums = put(&at, attrs->nums, nums_bytes);
  return node;
}

struct tc_node *tc_graph_input(struct tc_graph *g, const struct tc_meta *meta, const tc_sym *strides) {
  const tc_sym number = tc_sym_const((int64_t)g->inputs.len);
  const struct tc_attrs attrs = {.ints = &number, .n_ints = 1};
  struct tc_node *node = new_node(g, TC_OP_input, 0, NULL, &attrs);
  if (!node) return NULL;
  node->meta = *meta;
  node->strides = copy(g->arena, strides, sizeof *strides * (size_t)meta->ndim);
  if (!node->strides || !append(g, node)) return NULL;
  return tc_vec_push(tc_arena_alloc(g->arena), &g->inputs, node) ? node : NULL;
}

tc_status tc_graph_add(struct tc_graph *g, tc_op op, int n_in, struct tc_node *const *in,
                       const struct tc_attrs *attrs, struct tc_node **out, struct tc_error *err) {
  if (n_in > TC_MAX_INPUTS)
    return tc_fail(err, TC_LIMIT, "ir", "%s: %d operands; at most %d are supported", tc_op_row(op)->name,
                   n_in, TC_MAX_INPUTS);
  const struct tc_meta *metas[TC_MAX_INPUTS];
  for (int i = 0; i < n_in; i++) metas[i] = &in[i]->meta;
  static const struct tc_attrs none = {0};
  struct tc_meta meta;
  const tc_status status = tc_op_infer(g->tab, op, n_in, metas, attrs ? attrs : &none, &meta, err);
  if (status) return status;
  struct tc_node *node = new_node(g, op, n_in, in, attrs);
  if (!node || !append(g, node)) return tc_fail(err, TC_NOMEM, "ir", "out of memory for the graph");
  node->meta = meta;
  if (tc_op_row(op)->kind == TC_KIND_RANDOM) node->draw = g->draws++;
  *out = node;
  return TC_OK;
}

bool tc_graph_output(struct tc_graph *g, struct tc_node *node) {
  return tc_vec_push(tc_arena_alloc(g->arena), &g->outputs, node);
}

void tc_graph_count_uses(struct tc_graph *g) {
  for (size_t i = 0; i < g->nodes.len; i++) g->nodes.data[i]->uses = 0;
  for (size_t i = 0; i < g->nodes.len; i++)
    for (int k = 0; k < g->nodes.data[i]->n_in; k++) g->nodes.data[i]->in[k]->uses++;
  for (size_t i = 0; i < g->outputs.len; i++) g->outputs.data[i]->uses++;
}

/* Takes back the uses by dead nodes: then a node is dead if it has none. */
static void mark_dead(struct tc_graph *g) {
  for (size_t i = g->nodes.len; i-- > 0;) { /* users before what they use */
    const struct tc_node *node = g->nodes.data[i];
    if (!node->uses && node->op != TC_OP_input)
      for (int k = 0; k < node->n_in; k++) node->in[k]->uses--;
  }
}

static bool is_dead(const struct tc_node *node) { return !node->uses && node->op != TC_OP_input; }

void tc_graph_remove_unused(struct tc_graph *g) {
  mark_dead(g);
  size_t kept = 0;
  for (size_t i = 0; i < g->nodes.len; i++) {
    struct tc_node *node = g->nodes.data[i];
    if (is_dead(node)) continue;
    node->id = (int)kept;
    g->nodes.data[kept++] = node;
  }
  g->nodes.len = kept;
}

/* A copy of the node in `to`, whose operands are `copies` of its own, by id. */
static struct tc_node *copy_node(struct tc_graph *to, const struct tc_node *node,
                                 struct tc_node *const *copies) {
  struct tc_node *in[TC_MAX_INPUTS];
  for (int k = 0; k < node->n_in; k++) in[k] = copies[node->in[k]->id];
  struct tc_node *fresh = node->op == TC_OP_input ? tc_graph_input(to, &node->meta, node->strides)
                                                  : new_node(to, node->op, node->n_in, in, &node->attrs);
  if (!fresh || (node->op != TC_OP_input && !append(to, fresh))) return NULL;
  fresh->meta = node->meta;
  fresh->draw = node->draw;
  fresh->product = node->product;
  fresh->line = node->line;
  fresh->source = node->source;
  fresh->uses = node->uses;
  return fresh;
}

struct tc_graph *tc_graph_sibling(struct tc_graph *g) {
  struct tc_graph *sibling = TC_NEW(tc_arena_alloc(g->arena), struct tc_graph);
  if (!sibling) return NULL;
  sibling->arena = g->arena;
  sibling->tab = g->tab;
  return sibling;
}

struct tc_graph *tc_graph_without_unused(struct tc_graph *g) {
  struct tc_graph *to = tc_graph_sibling(g);
  struct tc_node **copies = TC_NEW_ARRAY(tc_arena_alloc(g->arena), struct tc_node *, g->nodes.len + 1);
  if (!to || !copies) return NULL;
  mark_dead(g);
  for (size_t i = 0; i < g->nodes.len; i++)
    if (!is_dead(g->nodes.data[i]) && !(copies[i] = copy_node(to, g->nodes.data[i], copies))) return NULL;
  for (size_t i = 0; i < g->outputs.len; i++)
    if (!tc_graph_output(to, copies[g->outputs.data[i]->id])) return NULL;
  to->draws = g->draws;
  return to;
}

static tc_status record(struct tc_builder *b, tc_op op, int n_in, struct tc_value *const *in,
                        const struct tc_attrs *attrs, struct tc_value **out, struct tc_error *err) {
  struct tc_graph_builder *gb = (struct tc_graph_builder *)b;
  if (n_in > TC_MAX_INPUTS)
    return tc_fail(err, TC_LIMIT, "ir", "%s: %d operands; at most %d are supported", tc_op_row(op)->name,
                   n_in, TC_MAX_INPUTS);
  struct tc_node *nodes[TC_MAX_INPUTS], *node;
  for (int i = 0; i < n_in; i++) nodes[i] = tc_node_of(in[i]);
  const tc_status status = tc_graph_add(gb->graph, op, n_in, nodes, attrs, &node, err);
  if (status) return status;
  if (!node->meta.device) node->meta.device = b->device;
  node->line = gb->line;
  node->source = gb->source;
  *out = tc_value_of(node);
  return TC_OK;
}

static void node_meta(struct tc_builder *b, const struct tc_value *value, struct tc_meta *out) {
  (void)b;
  *out = ((const struct tc_node *)value)->meta;
}

static bool node_is_contiguous(struct tc_builder *b, const struct tc_value *value) {
  /* Is the eager value known to be stored row by row? Then `contiguous` gives it back, as it does eagerly. */
  const struct tc_node *node = (const struct tc_node *)value;
  while (node->op == TC_OP_view || node->op == TC_OP_reshape || node->op == TC_OP_squeeze ||
         node->op == TC_OP_unsqueeze)
    node = node->in[0];
  if (node->op != TC_OP_input) return tc_op_row(node->op)->kind != TC_KIND_VIEW;
  tc_sym expected = tc_sym_const(1);
  for (int d = node->meta.ndim - 1; d >= 0; d--) {
    if (!tc_sym_is(node->meta.sizes[d], 1) && !tc_sym_same(node->strides[d], expected)) return false;
    expected = tc_sym_mul(((const struct tc_graph_builder *)b)->graph->tab, expected, node->meta.sizes[d]);
  }
  return true;
}

void tc_graph_builder_init(struct tc_graph_builder *b, struct tc_graph *g) {
  static const struct tc_builder_methods methods = {
      .emit = record, .meta = node_meta, .is_contiguous = node_is_contiguous};
  *b = (struct tc_graph_builder){.builder = {.methods = &methods, .tab = g->tab, .default_dtype = TC_F32},
                                 .graph = g};
}
