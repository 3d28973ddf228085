/* Substitution of loops into one another: see inline.h.
 *
 * Under a predicate nothing outside of a buffer may be read and no index may be reported: loads get the
 * predicate, and where it fails a CHECK sees 0, a DIVISOR 1. A load's own predicate also makes its value 0.
 * Loops are inlined through loops as deep as fusion goes: what waits for its operands stands on a stack of
 * its own. */
#include "sched/inline.h"

static uint64_t memo_hash(const struct tc_expr *e, int scope) {
  return tc_hash_u64((uint64_t)e->id, (uint64_t)scope);
}

static const struct tc_expr *memo_get(const struct tc_inliner *in, const struct tc_expr *e, int scope) {
  const uint64_t hash = memo_hash(e, scope);
  size_t at = tc_hash_index_first(&in->memo_index, hash);
  for (int i; (i = tc_hash_index_next(&in->memo_index, hash, &at)) >= 0;)
    if (in->memo.data[i].from == e && in->memo.data[i].scope == scope) return in->memo.data[i].to;
  return NULL;
}

static bool memo_put(struct tc_inliner *in, const struct tc_expr *e, int scope, const struct tc_expr *to) {
  const struct tc_inline_memo fresh = {e, scope, to};
  return tc_vec_push(in->alloc, &in->memo, fresh) &&
         tc_hash_index_add(in->alloc, &in->memo_index, memo_hash(e, scope), (int)in->memo.len - 1);
}

/* The number of the scope; -1 when memory is out. */
static int scope_of(struct tc_inliner *in, int loop, int index, const struct tc_expr *predicate) {
  const struct tc_scope scope = {loop, index, predicate};
  const uint64_t hash =
      tc_hash_u64(predicate ? (uint64_t)predicate->id + 1 : 0, tc_hash_u64((uint64_t)loop, (uint64_t)index));
  size_t at = tc_hash_index_first(&in->scope_index, hash);
  for (int i; (i = tc_hash_index_next(&in->scope_index, hash, &at)) >= 0;) {
    const struct tc_scope *known = &in->scopes.data[i];
    if (known->loop == loop && known->index == index && known->predicate == predicate) return i;
  }
  const int fresh = (int)in->scopes.len;
  return tc_vec_push(in->alloc, &in->scopes, scope) &&
                 tc_hash_index_add(in->alloc, &in->scope_index, hash, fresh)
             ? fresh
             : -1;
}

static tc_sym substitute(struct tc_inliner *in, tc_sym s, int scope) {
  const struct tc_loop *loop = in->loops->items.data[in->scopes.data[scope].loop];
  const struct tc_index *at = &in->loops->indices.data[in->scopes.data[scope].index];
  tc_sym vars[TC_MAX_DIMS];
  return tc_sym_substitute(in->loops->tab, s, tc_loop_vars(loop, vars), vars, at->at);
}

static const struct tc_expr *both(struct tc_inliner *in, const struct tc_expr *a, const struct tc_expr *b) {
  return a && b ? tc_expr_2(in->table, TC_E_AND, a, b) : a ? a : b;
}

static const struct tc_expr *value_unless(struct tc_inliner *in, const struct tc_expr *predicate,
                                          const struct tc_expr *value, double other) {
  if (!predicate || !value) return value;
  return tc_expr_3(in->table, TC_E_SELECT, predicate, value, tc_expr_num(in->table, value->dtype, other));
}

/* --- translating: an expression waits on the stack until what it needs is in the memo --- */

static const struct tc_expr *known(const struct tc_inliner *in, const struct tc_expr *e, int scope) {
  return memo_get(in, e, scope);
}

static bool ask(struct tc_inliner *in, const struct tc_expr *e, int scope) {
  const struct tc_inline_step step = {.task = {e, scope}};
  return tc_vec_push(in->alloc, &in->steps, step);
}

enum outcome { DONE, WAITS, NO_MEMORY };

/* Are all operands translated? Those that are not are asked for. */
static enum outcome operands(struct tc_inliner *in, const struct tc_expr *e, int scope) {
  enum outcome outcome = DONE;
  for (int i = TC_EXPR_ARGS - 1; i >= 0; i--) { /* the first is asked for last, and so comes first */
    if (!e->args[i] || known(in, e->args[i], scope)) continue;
    if (!ask(in, e->args[i], scope)) return NO_MEMORY;
    outcome = WAITS;
  }
  return outcome;
}

static enum outcome translate_load(struct tc_inliner *in, size_t step, const struct tc_expr **to) {
  const struct tc_inline_task task = in->steps.data[step].task;
  const struct tc_expr *e = task.e, *offset = e->args[0] ? known(in, e->args[0], task.scope) : NULL;
  const struct tc_expr *own = e->args[1] ? known(in, e->args[1], task.scope) : NULL, *value = NULL;
  if (own && own->op == TC_E_CONST) {
    if (!own->integer) return (*to = tc_expr_num(in->table, e->dtype, 0)) ? DONE : NO_MEMORY;
    own = NULL;
  }
  if (!in->steps.data[step].through.e) {
    in->through.e = NULL;
    struct tc_index at = *tc_load_index(in->loops, e);
    for (int i = 0; i < at.n; i++) at.at[i] = substitute(in, at.at[i], task.scope);
    if (tc_sym_valid(at.linear)) at.linear = substitute(in, at.linear, task.scope);
    value = in->load(in, e, &at, offset, both(in, own, in->scopes.data[task.scope].predicate));
    in->steps.data[step].through = in->through;
  }
  const struct tc_inline_task through = in->steps.data[step].through;
  if (through.e && !(value = known(in, through.e, through.scope)))
    return ask(in, through.e, through.scope) ? WAITS : NO_MEMORY;
  /* A load that is kept carries the predicate itself. */
  *to = value && value->op == TC_E_LOAD && value->args[1] ? value : value_unless(in, own, value, 0);
  return *to ? DONE : NO_MEMORY;
}

static enum outcome translate_operator(struct tc_inliner *in, const struct tc_expr *e, int scope,
                                       const struct tc_expr **to) {
  struct tc_expr copy = *e;
  if (tc_sym_valid(e->address) && e->op != TC_E_CONST) copy.address = substitute(in, e->address, scope);
  for (int i = 0; i < TC_EXPR_ARGS && e->args[i]; i++) copy.args[i] = known(in, e->args[i], scope);
  if (tc_expr_raises(e))
    copy.args[0] = value_unless(in, in->scopes.data[scope].predicate, copy.args[0], e->op == TC_E_DIVISOR);
  if (tc_expr_raises(e) && !copy.args[0]) return NO_MEMORY;
  return (*to = tc_expr_make(in->table, &copy)) ? DONE : NO_MEMORY;
}

/* The top of the stack: finished, or waiting for what is now above it. */
static enum outcome advance(struct tc_inliner *in) {
  const size_t step = in->steps.len - 1;
  const struct tc_inline_task task = in->steps.data[step].task;
  const struct tc_expr *to = NULL;
  if (known(in, task.e, task.scope)) return DONE;
  enum outcome outcome = operands(in, task.e, task.scope);
  if (outcome != DONE) return outcome;
  outcome = task.e->op == TC_E_LOAD ? translate_load(in, step, &to)
                                    : translate_operator(in, task.e, task.scope, &to);
  return outcome != DONE || memo_put(in, task.e, task.scope, to) ? outcome : NO_MEMORY;
}

static bool task_of(struct tc_inliner *in, const struct tc_expr *value, int loop, const struct tc_index *at,
                    const struct tc_expr *predicate, struct tc_inline_task *out) {
  const int index = tc_loops_index(in->loops, at);
  *out = (struct tc_inline_task){value, index < 0 ? -1 : scope_of(in, loop, index, predicate)};
  return out->scope >= 0;
}

const struct tc_expr *tc_inline(struct tc_inliner *in, const struct tc_expr *value, int loop,
                                const struct tc_index *at, const struct tc_expr *predicate) {
  struct tc_inline_task task;
  in->steps.len = 0;
  if (!task_of(in, value, loop, at, predicate, &task) || !ask(in, task.e, task.scope)) return NULL;
  while (in->steps.len) {
    const enum outcome outcome = advance(in);
    if (outcome == NO_MEMORY) return NULL;
    if (outcome == DONE) in->steps.len--;
  }
  return known(in, task.e, task.scope);
}

const struct tc_expr *tc_inline_through(struct tc_inliner *in, const struct tc_expr *value, int loop,
                                        const struct tc_index *at, const struct tc_expr *predicate) {
  if (!task_of(in, value, loop, at, predicate, &in->through)) in->through.e = NULL;
  return NULL;
}

struct tc_inliner tc_inliner_of(struct tc_loops *loops, tc_inline_load load, void *self) {
  return (struct tc_inliner){.loops = loops,
                             .table = loops->exprs,
                             .alloc = tc_arena_alloc(loops->arena),
                             .load = load,
                             .self = self};
}
