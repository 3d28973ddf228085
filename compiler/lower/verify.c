/* The specification of lowered loops.
 *
 * 1. Ids are positions; a loop reads smaller ids only.
 * 2. POINTWISE and REDUCTION loops have a value, in their compute dtype (a reduction's may be wider); INPUT
 *    and GEMM have none.
 * 3. A LOAD's tuple has one symbol for each dimension of the loop that is read.
 * 4. A product's operands are views of earlier loops, and every output is a view of a loop. */
#include "lower/loops.h"
#include "lower/walk.h"

struct check {
  const struct tc_loops *loops;
  const struct tc_loop *loop;
  struct tc_error *err;
  struct tc_walk walk;
};

static tc_status bad(const struct check *c, const char *what) {
  return tc_fail(c->err, TC_VERIFY, "lower", "loop %d: %s", c->loop ? c->loop->id : -1, what);
}

static tc_status check_load(const struct check *c, const struct tc_expr *e) {
  if (e->buffer < 0 || e->buffer >= c->loop->id)
    return bad(c, "it reads a loop that does not come before it");
  if (!tc_sym_is_const(e->address) || tc_sym_value(e->address) < 0 ||
      (size_t)tc_sym_value(e->address) >= c->loops->indices.len)
    return bad(c, "a load without an index tuple");
  return tc_load_index(c->loops, e)->n == c->loops->items.data[e->buffer]->ndim
             ? TC_OK
             : bad(c, "an index tuple of another rank than what it reads");
}

/* Each loop for itself: that a value reads smaller ids depends on whose it is. */
static tc_status check_value(struct check *c, const struct tc_expr *value) {
  tc_status status = TC_OK;
  if (!tc_walk_begin(&c->walk, TC_WALK_PRE, tc_expr_count(c->loops->exprs)) || !tc_walk_from(&c->walk, value))
    return tc_fail_memory(c->err, "lower");
  for (const struct tc_expr *e; !status && (e = tc_walk_next(&c->walk));)
    if (e->op == TC_E_LOAD) status = check_load(c, e);
  return c->walk.failed ? tc_fail_memory(c->err, "lower") : status;
}

static tc_status check_view(const struct check *c, const struct tc_view *view, int before) {
  if (view->loop < 0 || view->loop >= before) return bad(c, "a view of a loop that does not come before");
  if (view->index < 0 || (size_t)view->index >= c->loops->indices.len)
    return bad(c, "a view without an index tuple");
  return c->loops->indices.data[view->index].n == c->loops->items.data[view->loop]->ndim
             ? TC_OK
             : bad(c, "a view of another rank than its loop");
}

static tc_status check_loop(struct check *c, int position) {
  const struct tc_loop *loop = c->loop;
  const bool computes = loop->kind == TC_LOOP_POINTWISE || loop->kind == TC_LOOP_REDUCTION;
  if (loop->id != position) return bad(c, "its id is not its position");
  if (computes != (loop->value != NULL))
    return bad(c, computes ? "it has no value" : "inputs and products have no value");
  if (loop->kind == TC_LOOP_POINTWISE && loop->value->dtype != tc_compute_dtype(loop->dtype))
    return bad(c, "its value has another dtype");
  for (int i = 0; i < loop->ndim; i++)
    if (!tc_sym_valid(loop->sizes[i]) || !tc_sym_valid(loop->vars[i]))
      return bad(c, "a size or variable is invalid");
  if (computes) return check_value(c, loop->value);
  if (loop->kind != TC_LOOP_GEMM) return TC_OK;
  const tc_status status = check_view(c, &loop->a, position);
  return status ? status : check_view(c, &loop->b, position);
}

tc_status tc_loops_verify(const struct tc_loops *loops, struct tc_error *err) {
  struct check c = {.loops = loops, .err = err, .walk = {.alloc = tc_arena_alloc(loops->arena)}};
  const int n = (int)loops->items.len;
  tc_status status = TC_OK;
  for (int i = 0; i < n && !status; i++) {
    c.loop = loops->items.data[i];
    status = check_loop(&c, i);
  }
  c.loop = NULL;
  for (size_t i = 0; i < loops->graph->outputs.len && !status; i++)
    status = check_view(&c, &loops->outputs[i], n);
  return status;
}
