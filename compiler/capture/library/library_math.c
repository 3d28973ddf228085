/* math.* on numbers that stay open: where Lua's operators say the same, the result is an expression over
 * them.
 *
 * Invariants:
 *  1. An expression gives, for every number of the operand's kind, what the function gives: its value and its
 *     kind. Where the function's way depends on the value (a sign, which is larger), a comparison is guarded.
 *  2. Functions like math.cos are operations of expressions themselves (guards/functions.def).
 *  3. Whatever has no such expression is fixed, and the function itself is called. */
#include <string.h>

#include "capture/library/library.h"
#include "capture/trace/frames.h"
#include "capture/trace/lazy.h"
#include "capture/trace/metamethods.h"

static bool is_one_lazy(const struct tc_trace *t, size_t at, int n_args) {
  return n_args == 1 && tc_is_lazy(t, &t->slots[at + 1]);
}

static tc_status arith(struct tc_trace *t, enum tc_event event, struct tc_tracked a, struct tc_tracked b,
                       struct tc_tracked *out) {
  bool done;
  return tc_arith(t, event, &a, &b, out, &done);
}

/* The float is an integer, whatever its value: x | 0, which has no value for other floats. *is: this one
 * is. */
static tc_status to_integer(struct tc_trace *t, struct tc_tracked v, bool *is, struct tc_tracked *out) {
  struct tc_tracked zero = tc_int(0);
  lua_Integer integer = 0;
  *is = lua_numbertointeger(v.number, &integer) && (lua_Number)integer == v.number;
  *out = tc_int(integer);
  return *is ? tc_lazy_arith(t, LUA_OPBOR, &v, &zero, out) : TC_OK;
}

/* floor(x) is (x // 1) | 0 where it fits an integer; ceil(x) is -(-x // 1) | 0. */
static tc_status round_by(struct tc_trace *t, size_t at, int n_args, int *n_results, bool up) {
  if (!is_one_lazy(t, at, n_args)) return tc_library_pure(t, at, n_args, n_results);
  struct tc_tracked value = t->slots[at + 1], result;
  bool fits;
  if (value.kind == TC_IS_INT) {
    tc_guards_number(t->guards, value.source, true);
    return tc_give(t, at, value, n_results);
  }
  tc_status status = up ? arith(t, TC_EVENT_UNM, value, value, &value) : TC_OK;
  if (!status) status = arith(t, TC_EVENT_IDIV, value, tc_int(1), &value);
  if (!status && up) status = arith(t, TC_EVENT_UNM, value, value, &value);
  if (!status) status = to_integer(t, value, &fits, &result);
  if (status) return status;
  return fits ? tc_give(t, at, result, n_results) : tc_library_pure(t, at, n_args, n_results);
}

tc_status tc_library_math_floor(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  return round_by(t, at, n_args, n_results, false);
}
tc_status tc_library_math_ceil(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  return round_by(t, at, n_args, n_results, true);
}

tc_status tc_library_math_tointeger(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  if (!is_one_lazy(t, at, n_args)) return tc_library_pure(t, at, n_args, n_results);
  const struct tc_tracked value = t->slots[at + 1];
  struct tc_tracked result;
  bool is = false;
  if (value.kind == TC_IS_INT) return round_by(t, at, n_args, n_results, false);
  const tc_status status = to_integer(t, value, &is, &result);
  if (status) return status;
  return is ? tc_give(t, at, result, n_results) : tc_library_pure(t, at, n_args, n_results);
}

/* A zero that is a float has a sign, which no comparison sees: it is fixed, as NaN is. */
tc_status tc_library_math_abs(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  if (!is_one_lazy(t, at, n_args)) return tc_library_pure(t, at, n_args, n_results);
  struct tc_tracked value = t->slots[at + 1], zero = tc_int(0), result = value;
  const bool is_int = value.kind == TC_IS_INT, negative = is_int ? value.integer < 0 : value.number < 0;
  if (!is_int && !negative && !(value.number > 0)) return tc_library_pure(t, at, n_args, n_results);
  tc_status status = negative || is_int ? tc_lazy_compare(t, TC_GUARD_OP_LT, &value, &zero, negative)
                                        : tc_lazy_compare(t, TC_GUARD_OP_LT, &zero, &value, true);
  if (!status && negative) status = arith(t, TC_EVENT_UNM, value, value, &result);
  return status ? status : tc_give(t, at, result, n_results);
}

/* Are all numbers, and is one of them lazy? */
static bool are_lazy(const struct tc_trace *t, size_t at, int n_args) {
  bool lazy = false;
  for (size_t i = 1; i <= (size_t)n_args; i++) {
    if (!tc_is_number(&t->slots[at + i])) return false;
    lazy |= tc_is_lazy(t, &t->slots[at + i]);
  }
  return lazy;
}

static tc_status extreme(struct tc_trace *t, size_t at, int n_args, int *n_results, bool greatest) {
  if (!are_lazy(t, at, n_args)) return tc_library_pure(t, at, n_args, n_results);
  struct tc_tracked found = t->slots[at + 1];
  for (size_t i = 2; i <= (size_t)n_args; i++) {
    struct tc_tracked next = t->slots[at + i], low = greatest ? found : next, high = greatest ? next : found;
    bool better;
    const tc_status status = tc_less(t, TC_EVENT_LT, &low, &high, &better);
    if (status) return status;
    if (better) found = next;
  }
  tc_use_type(t, &found);
  return tc_give(t, at, found, n_results);
}

tc_status tc_library_math_max(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  return extreme(t, at, n_args, n_results, true);
}
tc_status tc_library_math_min(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  return extreme(t, at, n_args, n_results, false);
}

static bool is_positive(const struct tc_tracked *v, bool or_zero) {
  if (v->kind == TC_IS_INT) return or_zero ? v->integer >= 0 : v->integer > 0;
  return or_zero ? v->number >= 0 : v->number > 0;
}

/* Of a number from 0 on by a positive one it is a % b. */
tc_status tc_library_math_fmod(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  if (n_args != 2 || !are_lazy(t, at, n_args)) return tc_library_pure(t, at, n_args, n_results);
  struct tc_tracked a = t->slots[at + 1], b = t->slots[at + 2], zero = tc_int(0), result;
  if (!is_positive(&a, true) || !is_positive(&b, false)) return tc_library_pure(t, at, n_args, n_results);
  tc_status status = tc_lazy_compare(t, TC_GUARD_OP_LE, &zero, &a, true);
  if (!status) status = tc_lazy_compare(t, TC_GUARD_OP_LT, &zero, &b, true);
  if (!status) status = arith(t, TC_EVENT_MOD, a, b, &result);
  return status ? status : tc_give(t, at, result, n_results);
}

/* The function itself computes the captured call's value; what depends on the arguments is the expression. */
static tc_status open_call(struct tc_trace *t, size_t at, int n_args, int *n_results, int op) {
  struct tc_tracked x = t->slots[at + 1], y = t->slots[at + (size_t)n_args];
  for (size_t i = 1; i <= (size_t)n_args; i++) t->slots[at + i].source = TC_NO_SOURCE;
  const tc_status status = tc_library_pure(t, at, n_args, n_results);
  return status ? status : tc_lazy_arith(t, op, &x, &y, &t->slots[at]);
}

tc_status tc_library_math_function(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  static const struct {
    const char *name;
    int op;
  } functions[] = {
#define TC_GUARD_FUNCTION(NAME, name, value) {#name, TC_GUARD_OP_##NAME},
#include "guards/functions.def"
#undef TC_GUARD_FUNCTION
  };
  for (size_t i = 0; i < sizeof functions / sizeof *functions && is_one_lazy(t, at, n_args); i++)
    if (!strcmp(functions[i].name, t->slots[at].native->name))
      return open_call(t, at, n_args, n_results, functions[i].op);
  return tc_library_pure(t, at, n_args, n_results);
}

tc_status tc_library_math_log(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  if (n_args == 2 && are_lazy(t, at, n_args)) return open_call(t, at, n_args, n_results, TC_GUARD_OP_LOG_OF);
  return tc_library_math_function(t, at, n_args, n_results);
}

tc_status tc_library_math_atan(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  if (n_args == 2 && are_lazy(t, at, n_args)) return open_call(t, at, n_args, n_results, TC_GUARD_OP_ATAN);
  if (!is_one_lazy(t, at, n_args)) return tc_library_pure(t, at, n_args, n_results);
  const tc_status status = tc_reserve(t, at, 3);
  if (status) return status;
  t->slots[at + 2] = tc_int(1); /* what Lua puts there */
  return open_call(t, at, 2, n_results, TC_GUARD_OP_ATAN);
}

tc_status tc_library_math_type(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  if (!n_args) return tc_bad_argument(t, at);
  const struct tc_tracked value = t->slots[at + 1];
  if (is_one_lazy(t, at, n_args)) {
    static const char *const names[] = {"integer", "float"};
    struct tc_tracked name;
    const bool is_integer = value.kind == TC_IS_INT;
    tc_guards_number(t->guards, value.source, is_integer);
    const tc_status status = tc_text_of(t, names[!is_integer], strlen(names[!is_integer]), &name);
    return status ? status : tc_give(t, at, name, n_results);
  }
  if (tc_is_scalar(&value)) return tc_library_pure(t, at, n_args, n_results);
  tc_use_type(t, &value);
  return tc_give(t, at, tc_nil(), n_results);
}
