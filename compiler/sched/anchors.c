/* Which loops fusion places (anchors), and which are inlined into their readers.
 *
 * 1. Reductions, results, operands of library calls and sources of data-dependent reads are anchors.
 * 2. A pointwise loop with one reader is inlined, unless that recomputes much: many tuples of a stencil,
 *    or a division or function of a smaller operand that is broadcast.
 * 3. A pointwise loop with several readers is an anchor unless it is about as cheap as a load; fusion may
 *    still put all readers into one kernel, and then it needs no memory.
 * 4. Where all that would be inlined into a loop passes the limits of a kernel, the loop's operands are anchors.
 * 5. With fuse=off every loop is an anchor. */
#include "sched/inline.h"

enum { CHEAP = 4,           /* recompute in several kernels: a load and two simple operations */
       BROADCAST_COST = 8,  /* compute once, not once for each reader's element: a division, a function */
       STENCIL_BUDGET = 32  /* extra cost of recomputing a stencil's operand */ };

/* --- order and readers --- */

static bool visit(struct tc_sched *s, int id);

static bool visit_reads(struct tc_sched *s, const struct tc_expr *e, unsigned walk) {
  if (!tc_walk_enter(s, walk, e)) return true;
  if (e->op == TC_E_LOAD && !visit(s, e->buffer)) return false;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i] && !visit_reads(s, e->args[i], walk)) return false;
  return true;
}

/* Depth is bounded by the graph's depth; each loop is visited once. */
static bool visit(struct tc_sched *s, int id) {
  struct tc_info *info = &s->info[id];
  const struct tc_loop *loop = tc_loop_at(s, id);
  if (info->live) return true;
  info->live = true;
  if (loop->kind == TC_LOOP_GEMM && (!visit(s, loop->a.loop) || !visit(s, loop->b.loop))) return false;
  if (loop->value) {
    const unsigned walk = tc_walk_begin(s);
    if (!walk || !visit_reads(s, loop->value, walk)) return false;
  }
  info->rank = s->n_order;
  s->order[s->n_order++] = id;
  return true;
}

static int64_t points(const struct tc_sched *s, const struct tc_loop *loop) {
  const tc_sym n = tc_sym_mul(s->tab, tc_loops_numel(s->tab, loop->ndim, loop->sizes), tc_loops_numel(s->tab, loop->n_inner, loop->inner_sizes));
  return tc_sym_valid(n) ? tc_sym_hint(n) : INT64_MAX;
}

static void note_reader(struct tc_sched *s, int reader, const struct tc_expr *load) {
  struct tc_info *info = &s->info[load->buffer];
  if (info->last_reader != reader + 1) info->n_readers++;
  info->last_reader = reader + 1;
  info->n_tuples++;
  info->pinned |= load->args[0] != NULL;
  info->broadcast |= points(s, tc_loop_at(s, reader)) > points(s, tc_loop_at(s, load->buffer));
}

/* Every expression once: cost and count of the loop's own value, its readers' notes. */
static void scan(struct tc_sched *s, int id, const struct tc_expr *e, unsigned walk) {
  if (!tc_walk_enter(s, walk, e)) return;
  struct tc_info *info = &s->info[id];
  info->ops += e->op != TC_E_CONST && e->op != TC_E_ACC;
  info->cost += tc_expr_cost(e->op);
  info->loads += e->op == TC_E_LOAD;
  if (e->op == TC_E_LOAD) note_reader(s, id, e);
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i]) scan(s, id, e->args[i], walk);
}

static bool scan_all(struct tc_sched *s) {
  for (int i = 0; i < s->n_order; i++) {
    const struct tc_loop *loop = tc_loop_at(s, s->order[i]);
    if (loop->kind == TC_LOOP_GEMM) s->info[loop->a.loop].pinned = s->info[loop->b.loop].pinned = true;
    if (!loop->value) continue;
    const unsigned walk = tc_walk_begin(s);
    if (!walk) return false;
    scan(s, loop->id, loop->value, walk);
  }
  return true;
}

/* --- the decision --- */

static bool is_anchor(const struct tc_sched *s, const struct tc_loop *loop) {
  const struct tc_info *info = &s->info[loop->id];
  if (loop->kind != TC_LOOP_POINTWISE || info->output || info->pinned || !s->config->fuse) return true;
  if (info->ops > s->config->fuse_max_ops / 2) return true;
  if (info->broadcast && info->cost >= BROADCAST_COST) return true;
  if (info->n_readers > 1) return info->cost > CHEAP;
  return (int64_t)info->cost * (info->n_tuples - 1) > STENCIL_BUDGET;
}

/* Walks the operands of `id` that are inlined into it: adds what they cost, or (with `refuse`) makes them anchors. */
static void inlined_operands(struct tc_sched *s, int id, const struct tc_expr *e, bool refuse, unsigned walk) {
  if (!tc_walk_enter(s, walk, e)) return;
  if (e->op == TC_E_LOAD && !s->info[e->buffer].anchor) {
    struct tc_info *info = &s->info[id], *operand = &s->info[e->buffer];
    const int sign = refuse ? -1 : 1;
    info->ops += sign * (operand->ops - 1);
    info->cost += sign * (operand->cost - tc_expr_cost(TC_E_LOAD));
    info->loads += sign * (operand->loads - 1);
  }
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i]) inlined_operands(s, id, e->args[i], refuse, walk);
  if (e->op == TC_E_LOAD && refuse) s->refused[e->buffer] = true;
}

static bool walk_operands(struct tc_sched *s, const struct tc_loop *loop, bool refuse) {
  const unsigned walk = tc_walk_begin(s);
  if (!walk) return false;
  inlined_operands(s, loop->id, loop->value, refuse, walk);
  for (int i = 0; i < s->n_loops && refuse; i++) s->info[i].anchor |= s->refused[i];
  return true;
}

static bool decide(struct tc_sched *s) {
  s->refused = TC_NEW_ARRAY(s->alloc, bool, (size_t)s->n_loops + 1);
  if (!s->refused) return false;
  for (int i = 0; i < s->n_order; i++) {
    const struct tc_loop *loop = tc_loop_at(s, s->order[i]);
    struct tc_info *info = &s->info[loop->id];
    if (loop->value && !walk_operands(s, loop, false)) return false;
    const bool too_much = info->ops > s->config->fuse_max_ops || info->loads > tc_sched_max_reads(s);
    if (loop->value && too_much && !walk_operands(s, loop, true)) return false;
    info->anchor |= is_anchor(s, loop);
  }
  return true;
}

/* --- flat values --- */

static const struct tc_expr *flatten_load(struct tc_inliner *in, const struct tc_expr *load, const struct tc_index *at,
                                          const struct tc_expr *offset, const struct tc_expr *predicate) {
  struct tc_sched *s = in->self;
  const struct tc_loop *loop = tc_loop_at(s, load->buffer);
  if (s->info[loop->id].anchor) return tc_loops_load(in->loops, loop, at, offset, predicate);
  return tc_inline(in, loop->value, loop->id, at, predicate);
}

static bool note_reads(struct tc_sched *s, struct tc_info *info, const struct tc_expr *e, unsigned walk) {
  if (!tc_walk_enter(s, walk, e)) return true;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (e->args[i] && !note_reads(s, info, e->args[i], walk)) return false;
  if (e->op != TC_E_LOAD) return true;
  const struct tc_read read = {e->buffer, (int)tc_sym_value(e->address), e->args[0] != NULL};
  return tc_vec_push(s->alloc, &info->reads, read);
}

bool tc_anchor_reads(struct tc_sched *s, int id) {
  struct tc_info *info = &s->info[id];
  info->reads.len = 0;
  const unsigned walk = tc_walk_begin(s);
  return walk && note_reads(s, info, info->flat, walk);
}

static bool flatten(struct tc_sched *s, struct tc_inliner *in, const struct tc_loop *loop) {
  struct tc_info *info = &s->info[loop->id];
  struct tc_index own = {0};
  own.n = tc_loop_vars(loop, own.at);
  info->flat = tc_inline(in, loop->value, loop->id, &own, NULL);
  return info->flat && tc_anchor_reads(s, loop->id);
}

static bool note_gemm_reads(struct tc_sched *s, const struct tc_loop *loop) {
  const struct tc_read a = {loop->a.loop, loop->a.index, false}, b = {loop->b.loop, loop->b.index, false};
  return tc_vec_push(s->alloc, &s->info[loop->id].reads, a) && tc_vec_push(s->alloc, &s->info[loop->id].reads, b);
}

tc_status tc_sched_anchors(struct tc_sched *s) {
  s->order = TC_NEW_ARRAY(s->alloc, int, (size_t)s->n_loops + 1);
  if (!s->order) return tc_sched_nomem(s);
  for (size_t i = 0; i < s->g->outputs.len; i++) {
    if (!visit(s, s->loops->outputs[i].loop)) return tc_sched_nomem(s);
    s->info[s->loops->outputs[i].loop].output = true;
  }
  if (!scan_all(s) || !decide(s)) return tc_sched_nomem(s);
  struct tc_inliner in = {.loops = s->loops, .load = flatten_load, .self = s};
  for (int i = 0; i < s->n_order; i++) {
    const struct tc_loop *loop = tc_loop_at(s, s->order[i]);
    if (loop->kind == TC_LOOP_GEMM && !note_gemm_reads(s, loop)) return tc_sched_nomem(s);
    if (loop->value && s->info[loop->id].anchor && !flatten(s, &in, loop)) return tc_sched_nomem(s);
  }
  return TC_OK;
}
