/* Stages: a long chain of operations over elements is cut into passes over a short row.
 *
 * One pass over a chain computes a few vectors at a time, and each waits for its own previous operation; a
 * processor's window holds too little of the chain to fill the units. Cut into passes over a row that stays
 * in the first cache, each pass keeps many vectors in flight, and its constants in registers. (Loop fission
 * with scalar expansion, after Allen and Kennedy.)
 *
 * 1. Only kernels without reductions are cut, and only where the row's length is a known multiple of a block.
 * 2. A value's stage is never below its operands'; what crosses a border is kept or recomputed by keep.c. */
#include "sched/draft.h"

enum {
  STAGE_COST = TC_COST_TRANSCENDENTAL * 3 / 2, /* of the operations that wait for one another in a stage */
  MAX_STAGES = 16
};

struct stager {
  int *stage, *cost;
  bool *needed;
  int limit, last;
};

/* The stage of a value whose operands have theirs. */
static void place(struct stager *g, const struct tc_expr *e) {
  int stage = 0, waited = 0;
  for (int i = 0; i < TC_EXPR_ARGS; i++) {
    if (!e->args[i]) continue;
    const int below = g->stage[e->args[i]->id], cost = g->cost[e->args[i]->id];
    if (below > stage)
      stage = below, waited = cost;
    else if (below == stage && cost > waited)
      waited = cost;
  }
  const int own = tc_expr_cost(e->op);
  const bool cut = waited + own > g->limit && waited > 0 && own > 0;
  g->stage[e->id] = stage + cut;
  g->cost[e->id] = cut ? own : waited + own;
  if (g->needed[e->id] && g->stage[e->id] > g->last) g->last = g->stage[e->id];
}

/* Gives every value a stage; false when memory is out. */
static bool assign(struct tc_draft *d, struct stager *g) {
  const int n = tc_expr_count(d->table);
  *g = (struct stager){TC_NEW_ARRAY(d->scratch, int, (size_t)n), TC_NEW_ARRAY(d->scratch, int, (size_t)n),
                       TC_NEW_ARRAY(d->scratch, bool, (size_t)n), STAGE_COST, 0};
  if (!g->stage || !g->cost || !g->needed || !tc_draft_walk(d, TC_WALK_PRE)) return false;
  for (const struct tc_expr *e; (e = tc_walk_next(&d->walk));) g->needed[e->id] = true;
  if (d->walk.failed) return false;
  for (;; g->limit *= 2) {
    g->last = 0;
    for (int id = 0; id < n; id++) place(g, tc_expr_at(d->table, id));
    if (g->last < MAX_STAGES) return true;
  }
}

tc_status tc_draft_stage(struct tc_draft *d) {
  if (d->n_accs || d->has_row || d->n_passes != 1) return TC_OK;
  struct stager g;
  if (!assign(d, &g)) return tc_sched_failed(d->s);
  if (g.last && tc_sched_may(d->s, TC_FUEL_stage, NULL, "and what is in its kernel, in passes", NULL))
    d->stage_of = g.stage, d->n_stages = g.last + 1;
  return TC_OK;
}

void tc_draft_take_stages(struct tc_draft *d, bool possible) {
  if (!possible) d->stage_of = NULL;
  if (!d->stage_of) return;
  d->n_passes = d->n_stages;
  for (size_t i = 0; i < d->items.len; i++) d->items.data[i].pass = d->stage_of[d->items.data[i].value->id];
}
