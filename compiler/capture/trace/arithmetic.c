/* Operators on tracked values: arithmetic, comparison, concatenation.
 *
 * Invariant: numbers are computed by Lua itself (lua_arith, lua_compare, lua_tolstring on numbers never enter
 * metamethods), so that every result is exactly Lua's. What would raise is asked for before. */
#include "capture/trace/externals.h"
#include "capture/trace/frames.h"
#include "capture/trace/lazy.h"
#include "capture/trace/metamethods.h"
#include "capture/trace/trace.h"

static bool is_bitwise(enum tc_event event) {
  return (event >= TC_EVENT_BAND && event <= TC_EVENT_SHR) || event == TC_EVENT_BNOT;
}

static int lua_operator(enum tc_event event) { return (int)event - TC_EVENT_ADD + LUA_OPADD; }

/* An integer, or a float that is one. */
static bool has_integer(struct tc_trace *t, const struct tc_tracked *v) {
  if (v->kind == TC_IS_INT) return true;
  int is_integer;
  lua_pushnumber(t->L, v->number);
  lua_tointegerx(t->L, -1, &is_integer);
  lua_pop(t->L, 1);
  return is_integer;
}

static tc_status use_both(struct tc_trace *t, struct tc_tracked *a, struct tc_tracked *b) {
  const tc_status status = tc_use(t, a);
  return status ? status : tc_use(t, b);
}

tc_status tc_arith(struct tc_trace *t, enum tc_event event, const struct tc_tracked *a,
                   const struct tc_tracked *b, struct tc_tracked *out, bool *done) {
  *done =
      tc_is_number(a) && tc_is_number(b) && (!is_bitwise(event) || (has_integer(t, a) && has_integer(t, b)));
  if (!*done) return TC_OK;
  struct tc_tracked operands[] = {*a, *b};
  const bool divides = event == TC_EVENT_MOD || event == TC_EVENT_IDIV,
             integers = a->kind == TC_IS_INT && b->kind == TC_IS_INT;
  tc_status status = TC_OK;
  if (is_bitwise(event) && !integers)
    status = use_both(t, &operands[0], &operands[1]); /* that a float is an integer depends on its value */
  if (divides && integers && b->integer == 0) status = tc_use(t, &operands[1]);
  if (status) return status;
  if (divides && integers && b->integer == 0) return tc_trace_raises(t, "an integer is divided by zero");
  tc_push(t, a);
  const bool is_unary = event == TC_EVENT_UNM || event == TC_EVENT_BNOT;
  if (!is_unary) tc_push(t, b);
  lua_arith(t->L, lua_operator(event));
  *out = lua_isinteger(t->L, -1) ? tc_int(lua_tointeger(t->L, -1)) : tc_num(lua_tonumber(t->L, -1));
  lua_pop(t->L, 1);
  return tc_lazy_arith(t, lua_operator(event), &operands[0], &operands[1], out);
}

static tc_status raise_operands(struct tc_trace *t, const char *what, const struct tc_tracked *a,
                                const struct tc_tracked *b) {
  char left[96], right[96];
  tc_use_type(t, a);
  tc_use_type(t, b);
  tc_describe(t, a, left, sizeof left);
  tc_describe(t, b, right, sizeof right);
  return tc_trace_raises(t, "%s on %s and %s", what, left, right);
}

/* An operator between a string and a number or string: bitwise ones convert it by themselves, others are
 * metamethods of strings. */
static tc_status arith_texts(struct tc_trace *t, enum tc_event event, struct tc_tracked *a,
                             struct tc_tracked *b, struct tc_tracked *out) {
  const struct tc_tracked *text = a->kind == TC_IS_TEXT ? a : b;
  struct tc_tracked handler = tc_nil();
  tc_status status = use_both(t, a, b);
  if (!status && !is_bitwise(event)) status = tc_metamethod(t, text, event, &handler);
  if (status) return status;
  if (handler.kind == TC_IS_NIL) return raise_operands(t, "arithmetic", a, b);
  return tc_call_values(t, &handler, 2, (struct tc_tracked[]){*a, *b}, 1, out);
}

static tc_status call_tensor_operator(struct tc_trace *t, enum tc_event event, struct tc_tracked *a,
                                      struct tc_tracked *b, struct tc_tracked *out) {
  const struct tc_function *function = tc_function_for_event(tc_event_field(event));
  if (!function) return raise_operands(t, "an operator that tensors do not have", a, b);
  struct tc_tracked callee;
  const tc_status status = tc_new_native(t, function, NULL, function->name, &callee);
  const int n_args = event == TC_EVENT_UNM ? 1 : 2;
  return status ? status : tc_call_values(t, &callee, n_args, (struct tc_tracked[]){*a, *b}, 1, out);
}

/* An operand that has no metamethod leaves the choice to the other: guarded, for a later call may bring one
 * that has. */
static void pass_over(struct tc_trace *t, const struct tc_tracked *v) {
  const bool known =
      v->kind == TC_IS_TABLE || v->kind == TC_IS_TENSOR; /* guarded where it was looked up, or as an input */
  if (!known && (tc_is_scalar(v) || v->origin)) tc_use_type(t, v);
}

/* The first operand that has the metamethod decides, as in Lua. */
tc_status tc_arith_meta(struct tc_trace *t, enum tc_event event, struct tc_tracked *a, struct tc_tracked *b,
                        struct tc_tracked *out) {
  struct tc_tracked *const operands[] = {a, b};
  for (int i = 0; i < 2; i++) {
    const struct tc_tracked *v = operands[i];
    if (v->kind == TC_IS_TENSOR) return call_tensor_operator(t, event, a, b, out);
    if (v->kind == TC_IS_OPAQUE)
      return tc_trace_break(t, TC_BREAK_UNSUPPORTED_VALUE, "an operator on a foreign userdata or thread");
    if (v->kind == TC_IS_TEXT && tc_is_scalar(operands[1 - i])) return arith_texts(t, event, a, b, out);
    if (v->kind == TC_IS_TEXT)
      return tc_trace_break(t, TC_BREAK_METAMETHOD, "an operator between a string and an object");
    if (v->kind != TC_IS_TABLE) {
      pass_over(t, v);
      continue;
    }
    struct tc_tracked handler;
    const tc_status status = tc_metamethod(t, v, event, &handler);
    if (status) return status;
    if (handler.kind != TC_IS_NIL)
      return tc_call_values(t, &handler, 2, (struct tc_tracked[]){*a, *b}, 1, out);
  }
  return raise_operands(t, "arithmetic", a, b);
}

tc_status tc_equal(struct tc_trace *t, struct tc_tracked *a, struct tc_tracked *b, bool *equal) {
  tc_status status = tc_raw_equal(t, a, b, equal);
  if (status || *equal || a->kind != TC_IS_TABLE || b->kind != TC_IS_TABLE) return status;
  struct tc_tracked handler, result;
  status = tc_metamethod(t, a, TC_EVENT_EQ, &handler);
  if (!status && handler.kind == TC_IS_NIL) status = tc_metamethod(t, b, TC_EVENT_EQ, &handler);
  if (status || handler.kind == TC_IS_NIL) return status;
  status = tc_call_values(t, &handler, 2, (struct tc_tracked[]){*a, *b}, 1, &result);
  return status ? status : tc_truth(t, &result, equal);
}

tc_status tc_less(struct tc_trace *t, enum tc_event event, struct tc_tracked *a, struct tc_tracked *b,
                  bool *less) {
  const bool numbers = tc_is_number(a) && tc_is_number(b),
             texts = a->kind == TC_IS_TEXT && b->kind == TC_IS_TEXT;
  tc_status status;
  if (numbers || texts) {
    tc_push(t, a);
    tc_push(t, b);
    *less = lua_compare(t->L, -2, -1, event == TC_EVENT_LT ? LUA_OPLT : LUA_OPLE);
    lua_pop(t->L, 2);
    if (texts) return use_both(t, a, b);
    return tc_lazy_compare(t, event == TC_EVENT_LT ? TC_GUARD_OP_LT : TC_GUARD_OP_LE, a, b, *less);
  }
  struct tc_tracked handler, result;
  if (a->kind != TC_IS_TABLE && b->kind != TC_IS_TABLE) return raise_operands(t, "comparison", a, b);
  if (a->kind == TC_IS_TENSOR || b->kind == TC_IS_TENSOR) return raise_operands(t, "comparison", a, b);
  pass_over(t, a);
  pass_over(t, b);
  status = tc_metamethod(t, a, event, &handler);
  if (!status && handler.kind == TC_IS_NIL) status = tc_metamethod(t, b, event, &handler);
  if (status) return status;
  if (handler.kind == TC_IS_NIL) return raise_operands(t, "comparison", a, b);
  status = tc_call_values(t, &handler, 2, (struct tc_tracked[]){*a, *b}, 1, &result);
  return status ? status : tc_truth(t, &result, less);
}

static bool is_textual(const struct tc_tracked *v) { return tc_is_number(v) || v->kind == TC_IS_TEXT; }

tc_status tc_concat(struct tc_trace *t, struct tc_tracked *a, struct tc_tracked *b, struct tc_tracked *out) {
  tc_status status;
  if (is_textual(a) && is_textual(b)) {
    bool is_scalar;
    if ((status = tc_use(t, a)) || (status = tc_use(t, b))) return status;
    tc_push(t, a);
    tc_push(t, b);
    lua_concat(t->L, 2);
    return tc_pop_scalar(t, &is_scalar, out);
  }
  struct tc_tracked handler = tc_nil();
  pass_over(t, a);
  pass_over(t, b);
  if (a->kind == TC_IS_TABLE)
    status = tc_metamethod(t, a, TC_EVENT_CONCAT, &handler);
  else
    status = TC_OK;
  if (!status && handler.kind == TC_IS_NIL && b->kind == TC_IS_TABLE)
    status = tc_metamethod(t, b, TC_EVENT_CONCAT, &handler);
  if (status) return status;
  if (handler.kind == TC_IS_NIL) return raise_operands(t, "concatenation", a, b);
  return tc_call_values(t, &handler, 2, (struct tc_tracked[]){*a, *b}, 1, out);
}
