/* Lowering: walks the graph once and lets each operation's rule make its loop.
 *
 * 1. Takes a graph of TC_SPEC_DECOMPOSED; gives loops in topological order (a loop reads smaller ids).
 * 2. Every non-view node has at most one loop; a view is an index map of its readers; a `full` is a
 *    constant of its readers and gets a loop only where its memory is asked for.
 * 3. To add a case: a rule in the file of its family, its name in rules.h and in ops.def. */
#include "lower/rules.h"

static tc_status no_rule(struct tc_lowering *l, const struct tc_node *node) {
  return l->status = tc_fail(l->err, TC_UNSUPPORTED, "lower",
                             "%s has no lowering: it must be decomposed first", tc_op_row(node->op)->name);
}

#define lower_NONE no_rule
static const tc_lower_rule rules[TC_OP_COUNT] = {
#define TC_OP(name, arity, shape, dtype, eager, vjp, decomp, lower, KIND) [TC_OP_##name] = lower_##lower,
#include "ops/ops.def"
#undef TC_OP
};

tc_status tc_lower_failed(struct tc_lowering *l) {
  const bool memory = !l->loops || tc_arena_failed(l->loops->arena);
  if (l->status) return l->status;
  if (memory) return l->status = tc_fail_memory(l->err, "lower");
  return l->status = tc_fail(l->err, TC_LIMIT, "lower",
                             "sizes or addresses that 62 bits do not hold, or too large a formula of them");
}

struct tc_loop *tc_lower_loop(struct tc_lowering *l, enum tc_loop_kind kind, const struct tc_node *node,
                              tc_sym full[TC_MAX_DIMS]) {
  struct tc_loop *loop =
      tc_loops_add(l->loops, kind, node->meta.dtype, node->meta.ndim, node->meta.sizes, node);
  if (!loop) return tc_lower_failed(l), NULL;
  for (int i = 0, at = 0; i < node->meta.ndim; i++)
    full[i] = tc_sym_is(node->meta.sizes[i], 1) ? tc_sym_const(0) : loop->vars[at++];
  return loop;
}

tc_status tc_lower_define(struct tc_lowering *l, const struct tc_node *node, struct tc_loop *loop,
                          const struct tc_expr *value) {
  const struct tc_expr *cast = tc_expr_cast(
      l->exprs, value, loop->kind == TC_LOOP_REDUCTION ? (value ? value->dtype : TC_F32) : loop->dtype);
  if (!cast) return tc_lower_failed(l);
  loop->value = cast;
  l->of_node[node->id] = loop;
  return l->status;
}

/* A `full` whose memory is wanted becomes a loop of its own. */
static struct tc_loop *loop_of_scalar(struct tc_lowering *l, const struct tc_node *node) {
  tc_sym full[TC_MAX_DIMS];
  struct tc_loop *loop = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
  if (loop) tc_lower_define(l, node, loop, l->scalar[node->id]);
  return loop;
}

/* Follows views; `at` is replaced by the base's tuple. */
static const struct tc_node *base_of(struct tc_lowering *l, const struct tc_node *node,
                                     tc_sym at[TC_MAX_DIMS]) {
  while (tc_op_row(node->op)->kind == TC_KIND_VIEW) {
    tc_sym operand_at[TC_MAX_DIMS];
    tc_view_step(l->tab, node, at, operand_at);
    node = node->in[0];
    for (int i = 0; i < node->meta.ndim; i++) at[i] = operand_at[i];
  }
  return node;
}

/* The loop's tuple: the dimensions that are not 1. */
static void drop_ones(const struct tc_meta *meta, const tc_sym *at, struct tc_index *index) {
  for (int i = 0; i < meta->ndim; i++)
    if (!tc_sym_is(meta->sizes[i], 1)) index->at[index->n++] = at[i];
}

struct tc_loop *tc_lower_resolve(struct tc_lowering *l, const struct tc_node *node, const tc_sym *at,
                                 struct tc_index *index) {
  tc_sym here[TC_MAX_DIMS];
  for (int i = 0; i < node->meta.ndim; i++) here[i] = at[i];
  const struct tc_node *base = base_of(l, node, here);
  *index = (struct tc_index){0};
  drop_ones(&base->meta, here, index);
  return l->of_node[base->id] ? l->of_node[base->id] : loop_of_scalar(l, base);
}

static const struct tc_expr *read_value(struct tc_lowering *l, const struct tc_node *node, const tc_sym *at,
                                        tc_sym free, const struct tc_expr *offset,
                                        const struct tc_expr *predicate) {
  tc_sym here[TC_MAX_DIMS];
  for (int i = 0; i < node->meta.ndim; i++) here[i] = at[i];
  const struct tc_node *base = base_of(l, node, here);
  const struct tc_expr *scalar = l->scalar[base->id];
  if (scalar && !predicate) return scalar;
  if (scalar)
    return tc_expr_3(l->exprs, TC_E_SELECT, predicate, scalar, tc_expr_num(l->exprs, scalar->dtype, 0));
  struct tc_index index = {.free = free};
  drop_ones(&base->meta, here, &index);
  const struct tc_expr *value = tc_loops_load(l->loops, l->of_node[base->id], &index, offset, predicate);
  if (!value) tc_lower_failed(l);
  return value;
}

const struct tc_expr *tc_lower_read(struct tc_lowering *l, const struct tc_node *node, const tc_sym *at) {
  return read_value(l, node, at, TC_SYM_INVALID, NULL, NULL);
}
const struct tc_expr *tc_lower_read_if(struct tc_lowering *l, const struct tc_node *node, const tc_sym *at,
                                       const struct tc_expr *predicate) {
  return predicate ? read_value(l, node, at, TC_SYM_INVALID, NULL, predicate) : NULL;
}

/* Can every coordinate of the base be written as k·free + rest? */
static bool affine_in(struct tc_symtab *tab, const struct tc_meta *meta, const tc_sym *at, tc_sym free) {
  tc_sym coefficient, rest;
  for (int i = 0; i < meta->ndim; i++)
    if (!tc_sym_affine(tab, at[i], free, &coefficient, &rest)) return false;
  return true;
}

const struct tc_expr *tc_lower_read_at(struct tc_lowering *l, const struct tc_node *node, const tc_sym *at,
                                       tc_sym free, const struct tc_expr *offset) {
  if (!offset || !tc_sym_valid(free)) return NULL;
  tc_sym here[TC_MAX_DIMS];
  for (int i = 0; i < node->meta.ndim; i++) here[i] = at[i];
  const struct tc_node *base = base_of(l, node, here);
  if (!l->scalar[base->id] && !affine_in(l->tab, &base->meta, here, free)) {
    /* A reshaped operand that is gathered from is copied
                                                            first: its address is not linear in the index. */
    tc_sym full[TC_MAX_DIMS];
    struct tc_loop *copy = tc_lower_loop(l, TC_LOOP_POINTWISE, node, full);
    if (!copy) return NULL;
    copy->value = tc_lower_read(l, node, full);
    if (!copy->value) return NULL;
    struct tc_index index = {.free = free};
    drop_ones(&node->meta, at, &index);
    return tc_loops_load(l->loops, copy, &index, offset, NULL);
  }
  return read_value(l, node, at, free, offset, NULL);
}

static tc_status lower_outputs(struct tc_lowering *l, const struct tc_graph *g) {
  for (size_t i = 0; i < g->outputs.len; i++) {
    const struct tc_node *node = g->outputs.data[i];
    struct tc_view *view = &l->loops->outputs[i];
    view->ndim = node->meta.ndim;
    for (int d = 0; d < view->ndim; d++) {
      view->sizes[d] = node->meta.sizes[d];
      view->vars[d] = tc_loops_var(l->loops, view->sizes[d]);
    }
    struct tc_index index;
    const struct tc_loop *loop = tc_lower_resolve(l, node, view->vars, &index);
    if (!loop) return l->status;
    view->loop = loop->id;
    view->index = tc_loops_index(l->loops, &index);
    if (view->index < 0) return tc_lower_failed(l);
  }
  return TC_OK;
}

tc_status tc_lower(struct tc_graph *g, const struct tc_config *config, struct tc_loops **out,
                   struct tc_error *err) {
  struct tc_lowering l = {.tab = g->tab, .err = err, .loops = tc_loops_new(g)};
  const struct tc_alloc *alloc = tc_arena_alloc(g->arena);
  l.of_node = TC_NEW_ARRAY(alloc, struct tc_loop *, g->nodes.len + 1);
  l.scalar = TC_NEW_ARRAY(alloc, const struct tc_expr *, g->nodes.len + 1);
  if (!l.loops || !l.of_node || !l.scalar || !(l.loops->fuel = tc_fuel_new(g->arena, config)))
    return tc_lower_failed(&l);
  l.exprs = l.loops->exprs;
  tc_expr_table_limit(l.exprs, l.loops->fuel);
  if (!config->opt_pattern_precompile && !tc_expr_table_parse(l.exprs)) return tc_lower_failed(&l);
  for (size_t i = 0; i < g->nodes.len; i++) {
    const struct tc_node *node = g->nodes.data[i];
    const tc_status status = rules[node->op](&l, node);
    if (status == TC_OK) continue;
    tc_error_at(err, "%s (v%d)", tc_op_row(node->op)->name, node->id);
    return status;
  }
  const tc_status status = lower_outputs(&l, g);
  if (status == TC_OK) *out = l.loops;
  return status;
}
