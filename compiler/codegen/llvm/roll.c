/* Repeated bodies: a chain of equal turns is emitted once, as a loop that carries its values in registers.
 *
 * 1. Ids are dense and in order of first use, so the turns of a body that repeats are runs of `period` ids,
 *    one behind the other. An operand of one turn is, in the next, either the same expression (made before
 *    the first turn) or the one `period` ids later.
 * 2. Of all turns but the last nothing is used outside, except by the turn that follows: behind the loop the
 *    last turn's values stand.
 * 3. Only operators that compute from their operands alone are rolled, all of one scope: nothing in a body
 *    could be hoisted or depends on masks.
 * 4. The same operations run on the same operands in the same order, so results are the same bits as without
 *    the loop. */
#include <limits.h>

#include "codegen/llvm/types.h"

enum {
  LONGEST_PERIOD = 128,
  FEWEST_TURNS = 3,
  FEWEST_EXPRESSIONS = 12,
  STRIDE = 4,       /* of the ids where turns are looked for: a body may begin at any of its expressions */
  BODY_WEIGHT = 48, /* of a body: less work is done several times a turn, so that the loop's own instructions
                       are a few percent */
  SAVED_WEIGHT = 48 /* the least that a loop spares: shorter chains overlap with those of the next lanes, and
                       compile fast */
};

/* --- finding them --- */

/* Of an expression. last_use: highest id that uses it; INT_MAX: a store or a reduction. kind: equal where one
 * may be the other's next turn; 0: it is in no turn. */
struct found {
  int last_use;
  unsigned kind;
};
struct finder {
  struct ll_emit *e;
  int n;
  struct found *at;
};

static bool computes(const struct tc_expr *x) {
  switch (x->op) {
    case TC_E_CONST:
    case TC_E_INDEX:
    case TC_E_LOAD:
    case TC_E_ACC:
    case TC_E_CHECK:
    case TC_E_DIVISOR:
    case TC_E_UNIFORM:
    case TC_E_NORMAL: return false;
    default: return true;
  }
}

/* Is the operand `b` of one turn what `a` is of the turn before? `start`: id where the first turn begins.
 * Emitters look at an operand that is a constant, so it is one in all turns or in none. */
static bool same_operand(const struct tc_expr *a, const struct tc_expr *b, int start, int period) {
  if (!a || !b) return a == b;
  if (a == b) return a->id < start;
  return b->id == a->id + period && a->id >= start - period && a->dtype == b->dtype && a->op != TC_E_CONST;
}

/* Where values of the expression live: all of a body in one place. */
static unsigned place_of(const struct ll_info *info) {
  return (unsigned)info->scope * 4 + info->varying * 2 + info->fresh;
}

static unsigned kind_of(const struct ll_info *info) {
  if (!info->x || !computes(info->x)) return 0;
  return 1 + (unsigned)info->x->op +
         TC_E_COUNT * ((unsigned)info->x->dtype + TC_DTYPE_COUNT * place_of(info));
}

static bool same_turn(const struct finder *f, int start, int period, int id) {
  if (!f->at[id].kind || f->at[id].kind != f->at[id + period].kind) return false;
  const struct ll_info *info = &f->e->info[id];
  const struct tc_expr *a = info->x, *b = f->e->info[id + period].x;
  for (int i = 0; i < TC_EXPR_ARGS; i++)
    if (!same_operand(a->args[i], b->args[i], start, period)) return false;
  return place_of(info) == place_of(&f->e->info[start]);
}

/* How many turns begin at `start`. */
static int count_turns(const struct finder *f, int start, int period) {
  int id = start;
  while (id + period < f->n && same_turn(f, start, period, id)) id++;
  const int turns = id == start ? 0 : (id - start) / period + 1;
  for (int t = 0; t < turns - 1; t++) /* a turn whose values are used further on is the last one */
    for (int i = start + t * period; i < start + (t + 1) * period; i++)
      if (f->at[i].last_use >= start + (t + 2) * period) return t + 1;
  return turns;
}

static int body_weight(const struct ll_emit *e, int start, int period) {
  int weight = 0;
  for (int i = start; i < start + period; i++) weight += ll_op_weight(e->info[i].x);
  return weight;
}

/* Turns grouped to bodies that are worth a loop; those left over come first, as plain code. */
static struct ll_roll roll_of(const struct ll_emit *e, int start, int period, int turns) {
  const int weight = body_weight(e, start, period),
            group = weight >= BODY_WEIGHT ? 1 : (BODY_WEIGHT + weight - 1) / (weight ? weight : 1);
  return (struct ll_roll){
      .first = start + turns % group * period, .period = period * group, .turns = turns / group};
}

static bool find_at(struct finder *f, int start, int *end) {
  struct ll_emit *e = f->e;
  for (int period = 1; f->at[start].kind && period <= LONGEST_PERIOD && start + period * FEWEST_TURNS <= f->n;
       period++) {
    if (f->at[start].kind != f->at[start + period].kind) continue;
    const int turns = count_turns(f, start, period);
    if (turns < FEWEST_TURNS) continue;
    const struct ll_roll roll = roll_of(e, start, period, turns);
    if (roll.turns < 2 || (roll.turns - 1) * body_weight(e, roll.first, roll.period) < SAVED_WEIGHT) continue;
    *end = roll.first + roll.turns * roll.period;
    e->rolls[e->n_rolls++] = roll;
    for (int i = *end - roll.period; i < *end; i++) e->info[i].roll = (unsigned char)e->n_rolls;
    return true;
  }
  return false;
}

static void note_uses(struct finder *f) {
  const struct tc_kernel *k = f->e->k;
  for (int id = 0; id < f->n; id++) {
    f->at[id].kind = kind_of(&f->e->info[id]);
    for (int i = 0; f->e->info[id].x && i < TC_EXPR_ARGS; i++)
      if (f->e->info[id].x->args[i]) f->at[f->e->info[id].x->args[i]->id].last_use = id;
  }
  for (int p = 0; p < k->n_phases; p++) {
    for (int i = 0; i < k->phases[p].n_reductions; i++)
      f->at[k->phases[p].reductions[i].value->id].last_use = INT_MAX;
    for (int i = 0; i < k->phases[p].n_stores; i++)
      f->at[k->phases[p].stores[i].value->id].last_use = INT_MAX;
  }
}

void ll_find_rolls(struct ll_emit *e) {
  struct finder f = {.e = e, .n = e->k->n_exprs};
  if (f.n < FEWEST_EXPRESSIONS) return;
  f.at = TC_NEW_ARRAY(e->m->alloc, struct found, (size_t)f.n);
  if (!f.at) {
    ll_fail(e, TC_NOMEM, e->m->i64, "out of memory");
    return;
  }
  note_uses(&f);
  for (int id = 0, end; id < f.n && e->n_rolls < LL_ROLLS;) id = find_at(&f, id, &end) ? end : id + STRIDE;
  TC_FREE_ARRAY(e->m->alloc, f.at, (size_t)f.n);
}

/* --- emitting one --- */

/* Operand i of the body's expression at `id`: one from before that the next turn replaces by one of this
 * turn? */
static bool carried(const struct ll_emit *e, const struct ll_roll *roll, int id, int i) {
  const struct tc_expr *a = e->info[id].x->args[i];
  return a && a->id < roll->first && e->info[id + roll->period].x->args[i] != a;
}

static LLVMValueRef value_of(struct ll_emit *e, const struct tc_expr *x, bool varying) {
  return varying ? ll_lanes_value(e, x) : ll_value(e, x);
}

/* The scope goes on where control flow stands; what is hoisted out of it stays before the loop. */
static void follow(struct ll_emit *e, int scope) {
  e->scopes[scope].block = e->block;
  e->scopes[scope].anchor = NULL;
}

static void emit_loop(struct ll_emit *e, const struct ll_roll *roll, LLVMValueRef *slots,
                      struct ll_state *state) {
  const int scope = e->info[roll->first].scope;
  struct ll_loop loop;
  int n = 0;
  /* What comes from outside is there before the loop. Slot s carries the value of the expression s ids before
   * the body's end. */
  for (int id = roll->first; id < roll->first + roll->period; id++)
    for (int i = 0; i < TC_EXPR_ARGS; i++) {
      const struct tc_expr *a = e->info[id].x->args[i];
      if (!a || a->id >= roll->first) continue;
      LLVMValueRef value = value_of(e, a, e->info[id].varying);
      if (carried(e, roll, id, i)) slots[roll->first - 1 - a->id] = value;
    }
  for (int s = 0; s < roll->period; s++)
    if (slots[s]) state[n++] = (struct ll_state){slots[s], NULL};
  LLVMValueRef turns = ll_i64(e, roll->turns);
  ll_loop_begin(e, &loop, ll_i64(e, 0), turns, false, state, n);
  follow(e, scope);
  for (int s = 0, i = 0; s < roll->period; s++)
    if (slots[s]) slots[s] = state[i++].value;
  for (int id = roll->first; id < roll->first + roll->period; id++) {
    struct ll_info *info = &e->info[id];
    LLVMValueRef args[TC_EXPR_ARGS] = {0};
    for (int i = 0; i < TC_EXPR_ARGS; i++) {
      const struct tc_expr *a = info->x->args[i];
      if (a)
        args[i] = carried(e, roll, id, i) ? slots[roll->first - 1 - a->id] : value_of(e, a, info->varying);
    }
    ll_emit_operator(e, info->x, args);
  }
  for (int s = 0, i = 0; s < roll->period; s++)
    if (slots[s]) state[i++].value = e->info[roll->first + roll->period - 1 - s].value;
  ll_loop_end(e, &loop, turns, 1, state);
  follow(e, scope);
  /* The values of the body stand for the last turn's; those of the first turn are nobody's. */
  const int distance = (roll->turns - 1) * roll->period;
  for (int id = roll->first; id < roll->first + roll->period; id++) {
    e->info[id + distance].value = e->info[id].value;
    e->info[id + distance].stamp = e->info[id].stamp;
    e->info[id].value = NULL;
  }
}

bool ll_roll(struct ll_emit *e, const struct ll_roll *roll) {
  const int scope = e->info[roll->first].scope;
  if (scope != e->current || e->scopes[scope].block != e->block || e->scopes[scope].anchor || e->status)
    return false;
  const size_t n = (size_t)roll->period;
  LLVMValueRef *slots = TC_NEW_ARRAY(e->m->alloc, LLVMValueRef, n);
  struct ll_state *state = TC_NEW_ARRAY(e->m->alloc, struct ll_state, n);
  if (slots && state)
    emit_loop(e, roll, slots, state);
  else
    ll_fail(e, TC_NOMEM, e->m->i64, "out of memory");
  TC_FREE_ARRAY(e->m->alloc, slots, n);
  TC_FREE_ARRAY(e->m->alloc, state, n);
  return !e->status;
}
