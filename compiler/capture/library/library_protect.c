/* Protected calls and the errors that they catch.
 *
 * Invariants:
 *  1. An error is caught in the trace only where its value is exactly Lua's: those of error and assert.
 *     Whatever else raises is a break of the calling instruction, which then runs plain.
 *  2. While an error is on its way (t->raising), every function returns TC_BREAK, and inlined calls leave
 *     their frames in order; tc_trace_break is not told of it. The call that catches it takes the mark away.
 *  3. What the code did before the error stays, as in Lua: nothing of the trace is taken back. */
#include <lauxlib.h>
#include <string.h>

#include "capture/library/library.h"
#include "capture/trace/frames.h"

/* The Lua function that level `level` means, where the running native (error, assert) is level 0. NULL: that
 * is a C function, or (*outside) a function below the captured one. */
static const struct tc_activation *at_level(const struct tc_trace *t, lua_Integer level, bool *outside) {
  *outside = false;
  for (const struct tc_activation *a = t->activation; a; a = a->caller) {
    if (level < a->n_natives) return NULL;
    level -= a->n_natives;
    if (level-- == 0) return a;
  }
  *outside = true;
  return NULL;
}

/* Puts "file:line: " in front of a message, as luaL_where tells it. */
static tc_status add_position(struct tc_trace *t, const struct tc_activation *a, struct tc_tracked *message) {
  bool is_scalar;
  const int line = tc_proto_line(a->proto, a->pc - 1);
  if (line <= 0) return TC_OK;
  lua_pushfstring(t->L, "%s:%d: ", a->proto->chunk, line);
  tc_push(t, message);
  lua_concat(t->L, 2);
  return tc_pop_scalar(t, &is_scalar, message);
}

/* What the functions error and assert do. */
static tc_status raise_value(struct tc_trace *t, struct tc_tracked value, lua_Integer level,
                             const char *name) {
  bool outside = false;
  tc_status status = TC_OK;
  if (!t->n_protections) return tc_trace_raises(t, "call of %s", name);
  if (value.kind == TC_IS_TEXT)
    status = tc_use(t, &value);
  else
    tc_use_type(t, &value);
  if (!status && value.kind == TC_IS_TEXT && level > 0) {
    const struct tc_activation *a = at_level(t, level, &outside);
    if (outside || (t->in_handler && level > 1))
      return tc_trace_break(t, TC_BREAK_PROTECTED_CALL, "%s with level %lld", name, (long long)level);
    if (a) status = add_position(t, a, &value);
  }
  if (status) return status;
  t->raising = true;
  t->raised = value;
  return TC_BREAK;
}

tc_status tc_library_error(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  lua_Integer level;
  (void)n_results;
  const tc_status status = tc_integer_argument(t, at, n_args, 1, 1, &level);
  return status ? status : raise_value(t, tc_argument(t, at, n_args, 0), level, "error");
}

tc_status tc_library_assert(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  static const char failed[] = "assertion failed!";
  bool truth;
  if (!n_args) return tc_bad_argument(t, at);
  tc_status status = tc_truth(t, &t->slots[at + 1], &truth);
  if (status) return status;
  if (truth) {
    memmove(&t->slots[at], &t->slots[at + 1], sizeof *t->slots * (size_t)n_args);
    *n_results = n_args;
    return TC_OK;
  }
  struct tc_tracked message = tc_argument(t, at, n_args, 1);
  if (n_args < 2) status = tc_text_of(t, failed, sizeof failed - 1, &message);
  return status ? status : raise_value(t, message, 1, "assert");
}

/* Calls the value at slot `at`. *caught: it raised t->raised; the call's frames are gone. */
static tc_status call_protected(struct tc_trace *t, size_t at, int n_args, int *count, bool *caught) {
  const size_t limit = t->limit;
  const int depth = t->depth, top = lua_gettop(t->L),
            n_natives = t->activation ? t->activation->n_natives : 0;
  t->n_protections++;
  const tc_status status = tc_call(t, at, n_args, count);
  t->n_protections--;
  *caught = status == TC_BREAK && t->raising;
  if (!*caught) return status;
  t->raising = false;
  t->limit = limit;
  t->depth = depth;
  if (t->activation) t->activation->n_natives = n_natives;
  lua_settop(t->L, top);
  return TC_OK;
}

tc_status tc_library_pcall(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  bool caught;
  int count;
  if (!n_args) return tc_bad_argument(t, at);
  const tc_status status = call_protected(t, at + 1, n_args - 1, &count, &caught);
  if (status) return status;
  t->slots[at] = tc_bool(!caught);
  if (caught) t->slots[at + 1] = t->raised;
  *n_results = caught ? 2 : 1 + count;
  return TC_OK;
}

/* A message handler sees the values of the frames that raised, which their cells still hold; an error in it
 * would have it called again, and again. */
static tc_status handle(struct tc_trace *t, size_t at, const struct tc_tracked *handler) {
  const struct tc_tracked message = t->raised;
  const int n_protections = t->n_protections;
  t->n_protections = 0;
  t->in_handler++;
  const tc_status status = tc_call_values(t, handler, 1, &message, 1, &t->raised);
  t->in_handler--;
  t->n_protections = n_protections;
  t->slots[at] = tc_bool(false);
  t->slots[at + 1] = t->raised;
  return status;
}

tc_status tc_library_xpcall(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  const struct tc_tracked handler = tc_argument(t, at, n_args, 1);
  bool caught;
  int count;
  if (n_args < 2 || tc_tracked_type(&handler) != LUA_TFUNCTION) return tc_bad_argument(t, at);
  t->slots[at + 2] = t->slots[at + 1];
  tc_status status = call_protected(t, at + 2, n_args - 2, &count, &caught);
  if (status) return status;
  if (caught) {
    *n_results = 2;
    return handle(t, at, &handler);
  }
  t->slots[at] = tc_bool(true);
  memmove(&t->slots[at + 1], &t->slots[at + 2], sizeof *t->slots * (size_t)count);
  *n_results = 1 + count;
  return TC_OK;
}
