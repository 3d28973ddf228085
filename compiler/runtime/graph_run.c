#include "runtime/graph_run.h"

#include "device/eager.h"

static void release_operands(struct tc_tensor *values, int *uses, const struct tc_node *node) {
  for (int i = 0; i < node->n_in; i++)
    if (--uses[node->in[i]->id] == 0) tc_tensor_release(&values[node->in[i]->id]);
}

/* The node's attributes with the call's sizes. */
static bool attrs_at(const struct tc_node *node, const int64_t *sizes, tc_sym ints[TC_MAX_ATTRS],
                     struct tc_attrs *out) {
  *out = node->attrs;
  out->ints = ints;
  for (int i = 0; i < node->attrs.n_ints; i++) {
    int64_t value;
    if (!tc_sym_eval_checked(node->attrs.ints[i], sizes, &value)) return false;
    ints[i] = tc_sym_const(value);
  }
  return true;
}

/* `first_draw`: the graph's. Nodes that were removed drew too. */
static tc_status run_node(struct tc_context *ctx, const struct tc_node *node, uint64_t first_draw,
                          const int64_t *sizes, struct tc_tensor *values, struct tc_error *err) {
  const struct tc_tensor *in[TC_MAX_INPUTS];
  tc_sym ints[TC_MAX_ATTRS];
  struct tc_attrs bound;
  if (sizes && !attrs_at(node, sizes, ints, &bound))
    return tc_fail(err, TC_LIMIT, "runtime", "%s: a size of the graph overflows at the sizes of the call",
                   tc_op_row(node->op)->name);
  if (tc_op_row(node->op)->kind == TC_KIND_RANDOM) ctx->rng.next = first_draw + (uint64_t)node->draw;
  for (int i = 0; i < node->n_in; i++) in[i] = &values[node->in[i]->id];
  const tc_status status =
      tc_eager_run(ctx, node->op, node->n_in, in, sizes ? &bound : &node->attrs, &values[node->id], err);
  if (status && node->line) tc_error_at(err, "%s:%d", node->source ? node->source : "?", node->line);
  return status;
}

tc_status tc_graph_run(struct tc_context *ctx, struct tc_graph *g, const struct tc_tensor *const *inputs,
                       const int64_t *sizes, struct tc_tensor *outputs, struct tc_error *err) {
  const size_t n = g->nodes.len;
  const uint64_t first_draw = ctx->rng.next;
  tc_status status = TC_OK;
  struct tc_tensor *values = TC_NEW_ARRAY(ctx->alloc, struct tc_tensor, n);
  int *uses = TC_NEW_ARRAY(ctx->alloc, int, n);
  if (!values || !uses) {
    status = tc_fail(err, TC_NOMEM, "runtime", "out of memory for the graph's values");
    goto done;
  }
  tc_graph_count_uses(g);
  for (size_t i = 0; i < n; i++) uses[i] = g->nodes.data[i]->uses;
  for (size_t i = 0, input = 0; i < n && !status; i++) {
    const struct tc_node *node = g->nodes.data[i];
    if (node->op == TC_OP_input)
      values[i] = tc_tensor_share(inputs[input++]);
    else
      status = run_node(ctx, node, first_draw, sizes, values, err);
    if (!status) release_operands(values, uses, node);
    if (!status && !uses[i]) tc_tensor_release(&values[i]);
  }
  if (!status) ctx->rng.next = first_draw + (uint64_t)g->draws;
  for (size_t i = 0; i < g->outputs.len && !status; i++)
    outputs[i] = tc_tensor_share(&values[g->outputs.data[i]->id]);
done:
  for (size_t i = 0; values && i < n; i++) tc_tensor_release(&values[i]);
  TC_FREE_ARRAY(ctx->alloc, values, n);
  TC_FREE_ARRAY(ctx->alloc, uses, n);
  return status;
}
