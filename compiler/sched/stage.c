/* Stages: a long chain of operations over elements is cut into passes over a short row.
 *
 * One pass over a chain computes a few vectors at a time, and each waits for its own previous operation; a
 * processor's window holds too little of the chain to fill the units. Cut into passes over a row that stays in the
 * first cache, each pass keeps many vectors in flight, and its constants in registers. (Loop fission with
 * scalar expansion, after Allen and Kennedy.)
 *
 * 1. Only kernels without reductions are cut, and only where the row's length is a known multiple of a block.
 * 2. A value's stage is never below its operands'; what crosses a border is kept or recomputed by keep.c. */
#include "sched/draft.h"

enum { STAGE_COST = TC_COST_TRANSCENDENTAL * 3 / 2, /* of the operations that wait for one another in a stage */
       MAX_STAGES = 16 };

struct stager { int *stage, *cost; int limit, last; };

static int stage_of(struct stager *g, const struct tc_expr *e) {
  if (g->stage[e->id] >= 0) return g->stage[e->id];
  int stage = 0, waited = 0;
  for (int i = 0; i < TC_EXPR_ARGS; i++) {
    if (!e->args[i]) continue;
    const int below = stage_of(g, e->args[i]), cost = g->cost[e->args[i]->id];
    if (below > stage) stage = below, waited = cost;
    else if (below == stage && cost > waited) waited = cost;
  }
  const int own = tc_expr_cost(e->op);
  const bool cut = waited + own > g->limit && waited > 0 && own > 0;
  g->stage[e->id] = stage + cut;
  g->cost[e->id] = cut ? own : waited + own;
  if (g->stage[e->id] > g->last) g->last = g->stage[e->id];
  return g->stage[e->id];
}

/* Gives every value a stage; false when memory is out. */
static bool assign(struct tc_draft *d, struct stager *g) {
  const int n = tc_expr_count(d->s->loops->exprs);
  g->stage = TC_NEW_ARRAY(d->scratch, int, (size_t)n);
  g->cost = TC_NEW_ARRAY(d->scratch, int, (size_t)n);
  if (!g->stage || !g->cost) return false;
  for (g->limit = STAGE_COST;; g->limit *= 2) {
    g->last = 0;
    for (int i = 0; i < n; i++) g->stage[i] = -1;
    for (size_t i = 0; i < d->items.len; i++) (void)stage_of(g, d->items.data[i].value);
    if (g->last < MAX_STAGES) return true;
  }
}

tc_status tc_draft_stage(struct tc_draft *d) {
  if (d->n_accs || d->has_row || d->n_passes != 1) return TC_OK;
  struct stager g;
  if (!assign(d, &g)) return tc_sched_nomem(d->s);
  if (g.last) d->stage_of = g.stage, d->n_stages = g.last + 1;
  return TC_OK;
}

void tc_draft_take_stages(struct tc_draft *d, bool possible) {
  if (!possible) d->stage_of = NULL;
  if (!d->stage_of) return;
  d->n_passes = d->n_stages;
  for (size_t i = 0; i < d->items.len; i++) d->items.data[i].pass = d->stage_of[d->items.data[i].value->id];
}
