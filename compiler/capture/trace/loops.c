/* Loops: they are unrolled, turn by turn, under the limit of tc_turn.
 *
 * A numeric loop keeps Lua's registers: A internal index (integers: and A+1 the turns left, unsigned), A+1
 * limit, A+2 step, A+3 the variable that the body sees. A generic one: A iterator, A+1 state, A+2 control,
 * A+3 to be closed, A+4 … variables. */
#include <math.h>

#include "capture/trace/frames.h"
#include "capture/trace/lazy.h"
#include "capture/trace/metamethods.h"
#include "capture/trace/trace.h"

/* Lua's rule for the limit of an integer loop, clipped to the integers; true when the loop runs. */
static bool clip_limit(lua_Integer start, lua_Integer step, const struct tc_tracked *limit,
                       lua_Integer *out) {
  if (limit->kind == TC_IS_INT) {
    *out = limit->integer;
  } else if (!lua_numbertointeger(step < 0 ? ceil(limit->number) : floor(limit->number), out)) {
    const bool above = limit->number > 0; /* NaN is not */
    if (above == (step < 0)) return false;
    *out = above ? LUA_MAXINTEGER : LUA_MININTEGER;
  }
  return step > 0 ? start <= *out : start >= *out;
}

static tc_status prepare_integers(struct tc_trace *t, struct tc_tracked *loop, bool *skip) {
  const lua_Integer start = loop[0].integer, step = loop[2].integer;
  lua_Integer limit = 0;
  if (step == 0) return tc_trace_raises(t, "'for' step is zero");
  *skip = !clip_limit(start, step, &loop[1], &limit);
  if (*skip) return TC_OK;
  uint64_t turns;
  if (step > 0) {
    turns = (uint64_t)limit - (uint64_t)start;
    if (step != 1) turns /= (uint64_t)step;
  } else {
    turns = (uint64_t)start - (uint64_t)limit;
    turns /= (uint64_t)(-(step + 1)) + 1u;
  }
  loop[1] = tc_int((lua_Integer)turns);
  loop[3] = loop[0];
  return TC_OK;
}

static lua_Number as_float(const struct tc_tracked *v) {
  return v->kind == TC_IS_INT ? (lua_Number)v->integer : v->number;
}

static tc_status prepare_floats(struct tc_trace *t, struct tc_tracked *loop, bool *skip) {
  const lua_Number start = as_float(&loop[0]), limit = as_float(&loop[1]), step = as_float(&loop[2]);
  if (step == 0) return tc_trace_raises(t, "'for' step is zero");
  *skip = step > 0 ? limit < start : start < limit;
  loop[0] = loop[3] = tc_num(start);
  loop[1] = tc_num(limit);
  loop[2] = tc_num(step);
  return TC_OK;
}

tc_status tc_do_for_prepare(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  struct tc_tracked *loop = tc_register(t, a, tc_code_a(code));
  for (int i = 0; i < 3; i++) {
    const tc_status status = tc_use(t, &loop[i]);
    if (status) return status;
    if (!tc_is_number(&loop[i]))
      return tc_trace_raises(t, "a bound of 'for' is no number"); /* numeric strings too: Lua decides */
  }
  bool skip = false;
  const bool integers = loop[0].kind == TC_IS_INT && loop[2].kind == TC_IS_INT;
  const tc_status status = integers ? prepare_integers(t, loop, &skip) : prepare_floats(t, loop, &skip);
  if (!status && skip) a->pc += tc_code_bx(code) + 1;
  return status;
}

/* index += step */
static tc_status step_index(struct tc_trace *t, struct tc_tracked *loop, struct tc_tracked *next) {
  bool done;
  return tc_arith(t, TC_EVENT_ADD, &loop[0], &loop[2], next, &done);
}

static tc_status advance_integers(struct tc_trace *t, struct tc_tracked *loop, bool *goes_on) {
  struct tc_tracked zero = tc_int(0), one = tc_int(1), index, turns;
  bool done;
  *goes_on = loop[1].integer != 0;
  tc_status status = tc_lazy_compare(t, TC_GUARD_OP_EQ, &loop[1], &zero, !*goes_on);
  if (status || !*goes_on) return status;
  status = tc_arith(t, TC_EVENT_SUB, &loop[1], &one, &turns, &done);
  if (!status) status = step_index(t, loop, &index);
  if (status) return status;
  loop[0] = index;
  loop[1] = turns;
  return TC_OK;
}

static tc_status advance_floats(struct tc_trace *t, struct tc_tracked *loop, bool *goes_on) {
  struct tc_tracked next;
  tc_status status = tc_use(t, &loop[2]); /* its sign chooses the comparison */
  if (!status) status = step_index(t, loop, &next);
  if (status) return status;
  status = loop[2].number > 0 ? tc_less(t, TC_EVENT_LE, &next, &loop[1], goes_on)
                              : tc_less(t, TC_EVENT_LE, &loop[1], &next, goes_on);
  if (*goes_on) loop[0] = next;
  return status;
}

tc_status tc_do_for_loop(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  struct tc_tracked *loop =
      tc_register(t, a, tc_code_a(code)); /* in a continuation from outside, and perhaps lazy */
  bool goes_on = false;
  const tc_status status =
      loop[2].kind == TC_IS_INT ? advance_integers(t, loop, &goes_on) : advance_floats(t, loop, &goes_on);
  if (status || !goes_on) return status;
  loop[3] = loop[0];
  a->pc -= tc_code_bx(code);
  return tc_turn(t);
}

tc_status tc_do_iterate_prepare(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  bool closes;
  const tc_status status = tc_truth(t, tc_register(t, a, tc_code_a(code) + 3), &closes);
  if (status) return status;
  if (closes) return tc_trace_break(t, TC_BREAK_TO_BE_CLOSED, "a for loop with a closing value");
  a->pc += tc_code_bx(code);
  return TC_OK;
}

tc_status tc_do_iterate_call(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  enum { ITERATOR_ARGS = 2, FIRST_VARIABLE = 4 };
  const size_t loop = a->base + (size_t)tc_code_a(code), at = loop + FIRST_VARIABLE;
  const int wanted = tc_code_c(code);
  for (size_t i = 0; i <= ITERATOR_ARGS; i++) t->slots[at + i] = t->slots[loop + i];
  int count;
  const tc_status status = tc_call(t, at, ITERATOR_ARGS, &count);
  if (status) return status;
  for (int i = count; i < wanted; i++) t->slots[at + (size_t)i] = tc_nil();
  return TC_OK;
}

tc_status tc_do_iterate_loop(struct tc_trace *t, struct tc_activation *a, uint32_t code) {
  struct tc_tracked *loop = tc_register(t, a, tc_code_a(code)), *control = &loop[4];
  if (control->kind == TC_IS_NIL) return tc_use(t, control);
  tc_use_type(t, control);
  loop[2] = *control;
  a->pc -= tc_code_bx(code);
  return tc_turn(t);
}
