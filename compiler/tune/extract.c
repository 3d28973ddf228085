/* A product as a graph of its own: the matmul, the views of its operands, and what those look at as inputs;
 * and whole graphs.
 *
 * An input has the strides that it has in the graph; whatever the graph computes is dense, as the scheduler
 * lays it out. */
#include "tune/internal.h"

struct extractor {
  struct tc_graph *to;
  const struct tc_node *from[2];
  struct tc_node *made[2];
  int n_made;
};

static tc_sym by_hint(tc_sym s) { return tc_sym_const(tc_sym_hint(s)); }

static struct tc_node *make_input(struct tc_graph *to, const struct tc_node *node) {
  struct tc_meta meta = node->meta;
  tc_sym strides[TC_MAX_DIMS], dense = tc_sym_const(1);
  for (int d = meta.ndim - 1; d >= 0; d--) {
    meta.sizes[d] = by_hint(node->meta.sizes[d]);
    strides[d] = node->strides ? by_hint(node->strides[d]) : dense;
    dense = tc_sym_mul(to->tab, dense, meta.sizes[d]);
  }
  return tc_graph_input(to, &meta, strides);
}

static struct tc_node *input_of(struct extractor *x, const struct tc_node *node) {
  for (int i = 0; i < x->n_made; i++) /* a product of something with itself */
    if (x->from[i] == node) return x->made[i];
  x->from[x->n_made] = node;
  return x->made[x->n_made++] = make_input(x->to, node);
}

static struct tc_node *copy_of(struct tc_graph *to, const struct tc_node *node, int n_in,
                               struct tc_node *const *in) {
  tc_sym ints[TC_MAX_ATTRS];
  struct tc_attrs attrs = node->attrs;
  struct tc_node *made = NULL;
  struct tc_error unused;
  for (int i = 0; i < attrs.n_ints; i++) ints[i] = by_hint(attrs.ints[i]);
  attrs.ints = ints;
  return tc_graph_add(to, node->op, n_in, in, &attrs, &made, &unused) ? NULL : made;
}

/* The operand with its views: down to what they look at, and back up. */
static struct tc_node *operand_of(struct extractor *x, const struct tc_node *operand) {
  enum { MOST_VIEWS = 16 };
  const struct tc_node *views[MOST_VIEWS];
  int n = 0;
  for (; n < MOST_VIEWS && tc_op_row(operand->op)->kind == TC_KIND_VIEW; operand = operand->in[0])
    views[n++] = operand;
  struct tc_node *made = input_of(x, operand);
  while (n-- && made) made = copy_of(x->to, views[n], 1, &made);
  return made;
}

struct tc_graph *tune_extract(struct tc_context *ctx, const struct tc_node *product) {
  struct tc_arena *arena = tc_arena_new(ctx->alloc);
  struct extractor x = {.to = arena ? tc_graph_new(arena) : NULL};
  struct tc_node *in[2] = {NULL, NULL};
  for (int i = 0; i < 2 && x.to; i++) in[i] = operand_of(&x, product->in[i]);
  struct tc_node *made = in[0] && in[1] ? copy_of(x.to, product, 2, in) : NULL;
  if (made && tc_graph_output(x.to, made)) return x.to;
  tc_arena_free(arena);
  return NULL;
}

struct tc_graph *tune_copy(struct tc_context *ctx, const struct tc_graph *g) {
  struct tc_arena *arena = tc_arena_new(ctx->alloc);
  struct tc_graph *to = arena ? tc_graph_new(arena) : NULL;
  struct tc_node **copies =
      to ? TC_NEW_ARRAY(tc_arena_alloc(arena), struct tc_node *, g->nodes.len + 1) : NULL;
  bool good = copies != NULL;
  for (size_t i = 0; good && i < g->nodes.len; i++) {
    const struct tc_node *node = g->nodes.data[i];
    struct tc_node *in[TC_MAX_INPUTS];
    for (int k = 0; k < node->n_in; k++) in[k] = copies[node->in[k]->id];
    struct tc_node *made = copies[node->id] =
        node->op == TC_OP_input ? make_input(to, node) : copy_of(to, node, node->n_in, in);
    good = made != NULL;
    if (good) made->product = node->product;
  }
  for (size_t i = 0; good && i < g->outputs.len; i++)
    good = tc_graph_output(to, copies[g->outputs.data[i]->id]);
  if (good) return to;
  tc_arena_free(arena);
  return NULL;
}

double tune_span_of_all(const struct tc_graph *g) {
  double bytes = 0;
  for (size_t i = 0; i < g->inputs.len; i++) bytes += tune_span(g->inputs.data[i]);
  return bytes;
}

double tune_span(const struct tc_node *input) {
  double elements = 1;
  for (int d = 0; d < input->meta.ndim; d++)
    if (tc_sym_hint(input->meta.sizes[d]) == 0) return 0;
  for (int d = 0; d < input->meta.ndim; d++)
    elements += (double)(tc_sym_hint(input->meta.sizes[d]) - 1) * (double)tc_sym_hint(input->strides[d]);
  return elements * tc_dtype_bytes(input->meta.dtype);
}

double tune_work(const struct tc_node *product) {
  const struct tc_meta *a = &product->in[0]->meta;
  double work = (double)tc_sym_hint(a->sizes[a->ndim - 1]);
  for (int d = 0; d < product->meta.ndim; d++) work *= (double)tc_sym_hint(product->meta.sizes[d]);
  return work;
}
