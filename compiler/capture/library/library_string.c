/* Formats, iterators over strings, and modules that are loaded.
 *
 * Invariants:
 *  1. An iterator of gmatch that the traced code makes is a real one, of the trace's own, made from
 *     constants: it is called at capture. Where it must exist after the graph, a new one is made and brought
 *     as far.
 *  2. That a module is loaded, and what it is, are guarded as fields of the table of loaded modules. */
#include <lauxlib.h>

#include "capture/library/library.h"
#include "capture/trace/externals.h"
#include "capture/trace/frames.h"
#include "capture/trace/library_seam.h"
#include "capture/trace/metamethods.h"

/* Calls the value at the stack top below `n_args` arguments. A break when it raises. */
static tc_status call_really(struct tc_trace *t, int n_args, int n_results, const char *name) {
  return lua_pcall(t->L, n_args, n_results, 0) == LUA_OK ? TC_OK
                                                         : tc_trace_raises(t, "%s raises an error", name);
}

/* Strings among the values that are formatted go through their metamethod __tostring, if there is one. */
tc_status tc_library_format(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_tracked handler = tc_nil();
  for (int i = 1; i < n_args; i++) {
    const struct tc_tracked value = t->slots[at + 1 + (size_t)i];
    if (value.kind != TC_IS_TEXT) continue;
    const tc_status status = tc_metamethod(t, &value, TC_EVENT_TOSTRING, &handler);
    if (status) return status;
    if (handler.kind != TC_IS_NIL)
      return tc_trace_break(t, TC_BREAK_METAMETHOD, "string.format of strings with __tostring");
  }
  return tc_library_pure(t, at, n_args, n_results);
}

/* --- gmatch --- */

/* Upvalues: the function gmatch, its arguments. */
static int make_iterator(lua_State *L) {
  int count = 0;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  for (; lua_type(L, lua_upvalueindex(count + 1)) != LUA_TNONE; count++)
    lua_pushvalue(L, lua_upvalueindex(count + 1));
  lua_call(L, count - 1, 1);
  return 1;
}

/* Upvalues: a function that makes the iterator, how often it is to be called. */
static int make_advanced(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_call(L, 0, 1);
  const int iterator = lua_gettop(L);
  for (lua_Integer i = lua_tointeger(L, lua_upvalueindex(2)); i > 0; i--) {
    lua_pushvalue(L, iterator);
    lua_call(L, 0, 0);
  }
  return 1;
}

static int keep_object(struct tc_trace *t) {
  lua_rawseti(t->L, t->objects, ++t->n_objects);
  return t->n_objects;
}

static tc_status next_match(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_traced_native *native = t->slots[at].native;
  lua_State *L = t->L;
  const int top = lua_gettop(L);
  (void)n_args; /* state and control of a loop, which it does not look at */
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_rawgeti(L, t->objects, native->iterator);
  const tc_status status = call_really(t, 0, LUA_MULTRET, native->name);
  native->n_steps++;
  return status ? status : tc_take_results(t, at, top, native->name, n_results);
}

tc_status tc_library_gmatch(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  enum { MOST_ARGS = 3 };
  lua_State *L = t->L;
  const struct tc_tracked callee = t->slots[at];
  const int count = n_args < MOST_ARGS ? n_args : MOST_ARGS;
  struct tc_traced_native *native = TC_NEW(tc_arena_alloc(t->arena), struct tc_traced_native);
  if (!native) return tc_trace_nomem(t);
  tc_status status = tc_refuse_objects(t, at, count, callee.native->name);
  if (status) return status;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  tc_push(t, &callee);
  for (int i = 0; i < count && !status; i++) {
    status = tc_use(t, &t->slots[at + 1 + (size_t)i]);
    tc_push(t, &t->slots[at + 1 + (size_t)i]);
  }
  if (status) return status;
  lua_pushcclosure(L, make_iterator, count + 1);
  lua_pushvalue(L, -1);
  if ((status = call_really(t, 0, 1, callee.native->name))) return status;
  *native = (struct tc_traced_native){
      .origin.source = TC_NO_SOURCE, .library = next_match, .name = "the iterator of gmatch"};
  native->iterator = keep_object(t);
  native->factory = keep_object(t);
  return tc_give(t, at, tc_tracked_native(native), n_results);
}

int tc_iterator_factory(struct tc_trace *t, const struct tc_traced_native *native) {
  lua_State *L = t->L;
  lua_rawgeti(L, t->objects, native->factory);
  lua_pushinteger(L, native->n_steps);
  lua_pushcclosure(L, make_advanced, 2);
  const int source = tc_guards_object(t->guards, L, lua_gettop(L), TC_NO_SOURCE);
  lua_pop(L, 1);
  return source;
}

/* --- utf8.codes: an iterator without a state of its own --- */

tc_status tc_library_utf8_codes(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  enum { RESULTS = 3 };
  lua_State *L = t->L;
  const struct tc_tracked callee = t->slots[at];
  struct tc_tracked text = tc_argument(t, at, n_args, 0), lax = tc_argument(t, at, n_args, 1), iterator;
  tc_status status = tc_use(t, &text);
  if (!status) status = tc_use(t, &lax);
  if (status) return status;
  if (text.kind != TC_IS_TEXT || !tc_is_scalar(&lax)) return tc_bad_argument(t, at);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  tc_push(t, &callee);
  tc_push(t, &text);
  tc_push(t, &lax);
  if ((status = call_really(t, 2, RESULTS, callee.native->name))) return status;
  lua_pop(L, RESULTS - 1); /* the string, and 0 */
  status = tc_import_pinned(t, TC_NO_SOURCE, &iterator);
  if (!status) status = tc_reserve(t, at, RESULTS);
  if (status) return status;
  t->slots[at] = iterator;
  t->slots[at + 1] = text;
  t->slots[at + 2] = tc_int(0);
  *n_results = RESULTS;
  return TC_OK;
}

/* --- require --- */

tc_status tc_library_require(struct tc_trace *t, size_t at, int n_args, int *n_results) {
  struct tc_tracked name = tc_argument(t, at, n_args, 0), loaded, module;
  bool truth;
  tc_status status = tc_use(t, &name);
  if (status) return status;
  if (name.kind != TC_IS_TEXT) return tc_bad_argument(t, at);
  if (lua_getfield(t->L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE) != LUA_TTABLE) return tc_bad_argument(t, at);
  status = tc_import_pinned(t, TC_NO_SOURCE, &loaded);
  if (!status) status = tc_index(t, &loaded, name, &module);
  if (!status) status = tc_truth(t, &module, &truth);
  if (status) return status;
  if (!truth)
    return tc_trace_break(t, TC_BREAK_C_FUNCTION, "require of %s, which is not loaded yet", name.text->bytes);
  return tc_give(t, at, module, n_results);
}
