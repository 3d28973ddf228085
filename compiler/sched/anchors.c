/* Which loops fusion places (anchors), and which are inlined into their readers.
 *
 * 1. Reductions, results, operands of library calls and sources of data-dependent reads are anchors.
 * 2. A pointwise loop with one reader is inlined, unless that recomputes much: many tuples of a stencil,
 *    or a division or function of a smaller operand that is broadcast.
 * 3. A pointwise loop with several readers is an anchor unless it is about as cheap as a load; fusion may
 *    still put all readers into one kernel, and then it needs no memory.
 * 4. Where all that would be inlined into a loop passes the limits of a kernel, the loop's operands are
 *    anchors.
 * 5. With fuse=off every loop is an anchor. */
#include "sched/inline.h"

enum {
  CHEAP = 4,          /* recompute in several kernels: a load and two simple operations */
  BROADCAST_COST = 8, /* compute once, not once for each reader's element: a division, a function */
  STENCIL_BUDGET = 32 /* extra cost of recomputing a stencil's operand */
};

/* --- order and readers --- */

/* Notes which loops it reads. */
static bool note_operands(struct tc_sched *s, const struct tc_loop *loop) {
  struct tc_info *info = &s->info[loop->id];
  info->first_operand = (int)s->operands.len;
  if (loop->kind == TC_LOOP_GEMM && (!tc_vec_push(s->alloc, &s->operands, loop->a.loop) ||
                                     !tc_vec_push(s->alloc, &s->operands, loop->b.loop)))
    return false;
  if (loop->value && !tc_sched_walk(s, TC_WALK_PRE, loop->value)) return false;
  for (const struct tc_expr *e; loop->value && (e = tc_walk_next(&s->walk));)
    if (e->op == TC_E_LOAD && !tc_vec_push(s->alloc, &s->operands, e->buffer)) return false;
  info->n_operands = (int)s->operands.len - info->first_operand;
  return !s->walk.failed;
}

struct visit {
  int loop, next;
};
struct visits {
  struct visit *data;
  size_t len, cap;
};

static bool enter(struct tc_sched *s, struct visits *stack, int id) {
  const struct visit fresh = {id, 0};
  if (s->info[id].live) return true;
  s->info[id].live = true;
  return note_operands(s, tc_loop_at(s, id)) && tc_vec_push(s->alloc, stack, fresh);
}

/* The order of loops (ids do not tell it: later stages add loops that earlier ones read). As deep as the
 * graph. */
static bool visit(struct tc_sched *s, struct visits *stack, int root) {
  if (!enter(s, stack, root)) return false;
  while (stack->len) {
    struct visit *top = &stack->data[stack->len - 1];
    struct tc_info *info = &s->info[top->loop];
    if (top->next < info->n_operands) {
      if (!enter(s, stack, s->operands.data[info->first_operand + top->next++])) return false;
      continue;
    }
    info->rank = s->n_order;
    s->order[s->n_order++] = top->loop;
    stack->len--;
  }
  return true;
}

static int64_t points(const struct tc_sched *s, const struct tc_loop *loop) {
  const tc_sym n = tc_sym_mul(s->tab, tc_loops_numel(s->tab, loop->ndim, loop->sizes),
                              tc_loops_numel(s->tab, loop->n_inner, loop->inner_sizes));
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
static bool scan(struct tc_sched *s, const struct tc_loop *loop) {
  struct tc_info *info = &s->info[loop->id];
  if (!tc_sched_walk(s, TC_WALK_PRE, loop->value)) return false;
  for (const struct tc_expr *e; (e = tc_walk_next(&s->walk));) {
    info->ops += e->op != TC_E_CONST && e->op != TC_E_ACC;
    info->cost += tc_expr_cost(e->op);
    info->loads += e->op == TC_E_LOAD;
    if (e->op == TC_E_LOAD) note_reader(s, loop->id, e);
  }
  return !s->walk.failed;
}

static bool scan_all(struct tc_sched *s) {
  for (int i = 0; i < s->n_order; i++) {
    const struct tc_loop *loop = tc_loop_at(s, s->order[i]);
    if (loop->kind == TC_LOOP_GEMM) s->info[loop->a.loop].pinned = s->info[loop->b.loop].pinned = true;
    if (loop->value && !scan(s, loop)) return false;
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

/* Adds what the operands that are inlined into the loop cost; with `refuse` takes it off again, and makes
 * them anchors. */
static void inlined_operands(struct tc_sched *s, const struct tc_loop *loop, bool refuse) {
  struct tc_info *info = &s->info[loop->id];
  const int sign = refuse ? -1 : 1;
  const int *operands = s->operands.data + info->first_operand;
  for (int i = 0; i < info->n_operands; i++) {
    const struct tc_info *operand = &s->info[operands[i]];
    if (operand->anchor) continue;
    info->ops += sign * (operand->ops - 1);
    info->cost += sign * (operand->cost - tc_expr_cost(TC_E_LOAD));
    info->loads += sign * (operand->loads - 1);
  }
  for (int i = 0; refuse && i < info->n_operands; i++) s->info[operands[i]].anchor = true;
}

/* --- flat values --- */

static const struct tc_expr *flatten_load(struct tc_inliner *in, const struct tc_expr *load,
                                          const struct tc_index *at, const struct tc_expr *offset,
                                          const struct tc_expr *predicate) {
  struct tc_sched *s = in->self;
  const struct tc_loop *loop = tc_loop_at(s, load->buffer);
  if (s->info[loop->id].anchor) return tc_loops_load(in->loops, loop, at, offset, predicate);
  return tc_inline_through(in, loop->value, loop->id, at, predicate);
}

bool tc_anchor_reads(struct tc_sched *s, int id) {
  struct tc_info *info = &s->info[id];
  info->reads.len = 0;
  if (!tc_sched_walk(s, TC_WALK_POST, info->flat)) return false;
  for (const struct tc_expr *e; (e = tc_walk_next(&s->walk));) {
    const struct tc_read read = {e->buffer, (int)tc_sym_value(e->address), e->args[0] != NULL};
    if (e->op == TC_E_LOAD && !tc_vec_push(s->alloc, &info->reads, read)) return false;
  }
  return !s->walk.failed;
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
  return tc_vec_push(s->alloc, &s->info[loop->id].reads, a) &&
         tc_vec_push(s->alloc, &s->info[loop->id].reads, b);
}

tc_status tc_sched_anchors(struct tc_sched *s) {
  s->order = TC_NEW_ARRAY(s->alloc, int, (size_t)s->n_loops + 1);
  if (!s->order) return tc_sched_failed(s);
  struct visits stack = {0};
  for (size_t i = 0; i < s->g->outputs.len; i++) {
    if (!visit(s, &stack, s->loops->outputs[i].loop)) return tc_sched_failed(s);
    s->info[s->loops->outputs[i].loop].output = true;
  }
  if (!scan_all(s)) return tc_sched_failed(s);
  for (int i = 0; i < s->n_order; i++) {
    const struct tc_loop *loop = tc_loop_at(s, s->order[i]);
    struct tc_info *info = &s->info[loop->id];
    if (loop->value) inlined_operands(s, loop, false);
    if (loop->value && (info->ops > s->config->fuse_max_ops || info->loads > tc_sched_max_reads(s)))
      inlined_operands(s, loop, true);
    info->anchor |= is_anchor(s, loop) || !tc_sched_may(s, TC_FUEL_inline, loop, "within its readers", NULL);
  }
  struct tc_inliner in = tc_inliner_of(s->loops, flatten_load, s);
  for (int i = 0; i < s->n_order; i++) {
    const struct tc_loop *loop = tc_loop_at(s, s->order[i]);
    if (loop->kind == TC_LOOP_GEMM && !note_gemm_reads(s, loop)) return tc_sched_failed(s);
    if (loop->value && s->info[loop->id].anchor && !flatten(s, &in, loop)) return tc_sched_failed(s);
  }
  return TC_OK;
}
