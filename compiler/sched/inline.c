/* Substitution of loops into one another: see inline.h.
 *
 * Under a predicate nothing outside of a buffer may be read and no index may be reported: loads get
 * the predicate, and a CHECK sees 0 where it fails. A load's own predicate also makes its value 0. */
#include "sched/inline.h"

enum { MEMO_FIRST = 64 };

static const struct tc_expr *translate(struct tc_inliner *in, const struct tc_expr *e, int scope);

static size_t memo_place(const struct tc_inliner *in, const struct tc_expr *e, int scope) {
  size_t at = tc_hash_u64((uint64_t)e->id, (uint64_t)scope) & (in->memo_cap - 1);
  while (in->memo[at].from && (in->memo[at].from != e || in->memo[at].scope != scope)) at = (at + 1) & (in->memo_cap - 1);
  return at;
}

static bool memo_put(struct tc_inliner *in, const struct tc_expr *e, int scope, const struct tc_expr *to) {
  if (in->memo_len * 2 >= in->memo_cap) {
    const size_t old_cap = in->memo_cap;
    struct tc_inline_memo *old = in->memo;
    in->memo_cap = old_cap ? old_cap * 2 : MEMO_FIRST;
    in->memo = TC_NEW_ARRAY(tc_arena_alloc(in->loops->arena), struct tc_inline_memo, in->memo_cap);
    if (!in->memo) return in->memo = old, in->memo_cap = old_cap, false;
    for (size_t i = 0; i < old_cap; i++)
      if (old[i].from) in->memo[memo_place(in, old[i].from, old[i].scope)] = old[i];
  }
  in->memo[memo_place(in, e, scope)] = (struct tc_inline_memo){e, scope, to};
  in->memo_len++;
  return true;
}

/* Where the scope is in the table, or would be. */
static size_t scope_place(const struct tc_inliner *in, const struct tc_scope *scope) {
  const uint64_t seed = tc_hash_u64((uint64_t)scope->loop, (uint64_t)scope->index);
  size_t at = tc_hash_u64(scope->predicate ? (uint64_t)scope->predicate->id + 1 : 0, seed) & (in->scope_cap - 1);
  for (; in->scope_slots[at]; at = (at + 1) & (in->scope_cap - 1)) {
    const struct tc_scope *known = &in->scopes.data[in->scope_slots[at] - 1];
    if (known->loop == scope->loop && known->index == scope->index && known->predicate == scope->predicate) break;
  }
  return at;
}

static bool grow_scopes(struct tc_inliner *in) {
  in->scope_cap = in->scope_cap ? in->scope_cap * 2 : MEMO_FIRST;
  in->scope_slots = TC_NEW_ARRAY(tc_arena_alloc(in->loops->arena), int, in->scope_cap);
  for (size_t i = 0; in->scope_slots && i < in->scopes.len; i++) in->scope_slots[scope_place(in, &in->scopes.data[i])] = (int)i + 1;
  return in->scope_slots;
}

static int scope_of(struct tc_inliner *in, int loop, int index, const struct tc_expr *predicate) {
  const struct tc_scope scope = {loop, index, predicate};
  if (in->scopes.len * 2 >= in->scope_cap && !grow_scopes(in)) return -1;
  const size_t at = scope_place(in, &scope);
  if (in->scope_slots[at]) return in->scope_slots[at] - 1;
  if (!tc_vec_push(tc_arena_alloc(in->loops->arena), &in->scopes, scope)) return -1;
  return (in->scope_slots[at] = (int)in->scopes.len) - 1;
}

static tc_sym substitute(struct tc_inliner *in, tc_sym s, int scope) {
  const struct tc_loop *loop = in->loops->items.data[in->scopes.data[scope].loop];
  const struct tc_index *at = &in->loops->indices.data[in->scopes.data[scope].index];
  tc_sym vars[TC_MAX_DIMS];
  return tc_sym_substitute(in->loops->tab, s, tc_loop_vars(loop, vars), vars, at->at);
}

static const struct tc_expr *both(struct tc_inliner *in, const struct tc_expr *a, const struct tc_expr *b) {
  return a && b ? tc_expr_2(in->loops->exprs, TC_E_AND, a, b) : a ? a : b;
}

static const struct tc_expr *zero_unless(struct tc_inliner *in, const struct tc_expr *predicate, const struct tc_expr *value) {
  if (!predicate || !value) return value;
  return tc_expr_3(in->loops->exprs, TC_E_SELECT, predicate, value, tc_expr_num(in->loops->exprs, value->dtype, 0));
}

static const struct tc_expr *translate_load(struct tc_inliner *in, const struct tc_expr *e, int scope) {
  struct tc_index at = *tc_load_index(in->loops, e);
  for (int i = 0; i < at.n; i++) at.at[i] = substitute(in, at.at[i], scope);
  if (tc_sym_valid(at.linear)) at.linear = substitute(in, at.linear, scope);
  const struct tc_expr *offset = e->args[0] ? translate(in, e->args[0], scope) : NULL;
  const struct tc_expr *own = e->args[1] ? translate(in, e->args[1], scope) : NULL;
  if ((e->args[0] && !offset) || (e->args[1] && !own)) return NULL;
  if (own && own->op == TC_E_CONST) {
    if (!own->integer) return tc_expr_num(in->loops->exprs, e->dtype, 0);
    own = NULL;
  }
  const struct tc_expr *value = in->load(in, e, &at, offset, both(in, own, in->scopes.data[scope].predicate));
  /* A load that is kept carries the predicate itself. */
  return value && value->op == TC_E_LOAD && value->args[1] ? value : zero_unless(in, own, value);
}

static const struct tc_expr *translate_new(struct tc_inliner *in, const struct tc_expr *e, int scope) {
  if (e->op == TC_E_CONST || e->op == TC_E_ACC) return e;
  if (e->op == TC_E_LOAD) return translate_load(in, e, scope);
  struct tc_expr copy = *e;
  if (tc_sym_valid(e->address)) copy.address = substitute(in, e->address, scope);
  for (int i = 0; i < TC_EXPR_ARGS && e->args[i]; i++)
    if (!(copy.args[i] = translate(in, e->args[i], scope))) return NULL;
  if (e->op == TC_E_CHECK) copy.args[0] = zero_unless(in, in->scopes.data[scope].predicate, copy.args[0]);
  return tc_expr_make(in->loops->exprs, &copy);
}

static const struct tc_expr *translate(struct tc_inliner *in, const struct tc_expr *e, int scope) {
  if (in->memo_cap) {
    const struct tc_inline_memo *known = &in->memo[memo_place(in, e, scope)];
    if (known->from) return known->to;
  }
  const struct tc_expr *to = translate_new(in, e, scope);
  return to && memo_put(in, e, scope, to) ? to : NULL;
}

const struct tc_expr *tc_inline(struct tc_inliner *in, const struct tc_expr *value, int loop, const struct tc_index *at,
                                const struct tc_expr *predicate) {
  const int index = tc_loops_index(in->loops, at);
  const int scope = index < 0 ? -1 : scope_of(in, loop, index, predicate);
  return scope < 0 ? NULL : translate(in, value, scope);
}
