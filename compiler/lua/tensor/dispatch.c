/* Calls of tensor functions from Lua, run at once.
 *
 * Invariants:
 *  1. Between tc_eager_begin and tc_eager_end nothing raises; what fails is kept in a tc_error and raised
 *     afterwards.
 *  2. The object of a single result is made before the operation runs, those of several results in a
 *     protected call: a failing Lua allocation leaks no storage.
 *  3. A function that gives back an argument as it is gives back that very object.
 *  4. The collector runs before the operation allocates, so that dead tensors leave their buffers to it. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "device/eager.h"
#include "lua/module.h"

struct call {
  struct tc_eager eager;
  struct tc_lua_arguments args;
  struct tc_arg bound[TC_MAX_ARGS];
  struct tc_results results;
};

/* Pushes "source:line: " of the innermost Lua function that is not of the module's own Lua code. */
static void push_where(lua_State *L) {
  lua_Debug frame;
  for (int level = 0; lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline <= 0 || !strcmp(frame.source, TC_LUA_NN_CHUNK)) continue;
    lua_pushfstring(L, "%s:%d: ", frame.short_src, frame.currentline);
    return;
  }
  lua_pushliteral(L, "");
}

/* Keys of the registry: the text that the module raised last, and its status. */
static const char raised_text, raised_status;

int tc_lua_raise_top(lua_State *L, tc_status status) {
  lua_pushinteger(L, (lua_Integer)status);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &raised_status);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &raised_text);
  return lua_error(L);
}

tc_status tc_lua_raised(lua_State *L, int index) {
  index = lua_absindex(L, index);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &raised_text);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &raised_status);
  const bool own = lua_type(L, index) == LUA_TSTRING && lua_rawequal(L, index, -2);
  const tc_status status = own ? (tc_status)lua_tointeger(L, -1) : TC_LUA;
  lua_pop(L, 2);
  return status;
}

int tc_lua_raise(lua_State *L, const char *name, const struct tc_error *err) {
  const size_t length = strlen(name);
  const bool named = !strncmp(err->message, name, length) && err->message[length] == ':';
  const char *message = err->message[0]
                            ? err->message + (named ? length + strspn(err->message + length, ": ") : 0)
                            : tc_status_text(err->status);
  push_where(L);
  lua_pushfstring(L, "%s: ", name);
  if (err->where[0]) lua_pushfstring(L, "%s: ", err->where);
  lua_pushstring(L, message);
  lua_concat(L, 3 + (err->where[0] != '\0'));
  return tc_lua_raise_top(L, err->status);
}

int tc_lua_raise_text(lua_State *L, const char *name, const char *format, ...) {
  struct tc_error err;
  va_list args;
  va_start(args, format);
  vsnprintf(err.message, sizeof err.message, format, args);
  va_end(args);
  err.status = TC_ARG;
  err.where[0] = '\0';
  return tc_lua_raise(L, name, &err);
}

/* Opens the builder (the caller ends it, also after a failure), reads and binds the arguments, and runs. */
static tc_status run_call(lua_State *L, struct tc_lua_module *m, const struct tc_function *f, int n,
                          struct call *call, struct tc_error *err) {
  tc_eager_begin(&call->eager, &m->ctx);
  call->eager.builder.default_dtype = m->default_dtype;
  call->results.count = 0;
  err->status = TC_OK;
  err->where[0] = err->message[0] = '\0';
  const struct tc_lua_arguments *args = &call->args;
  tc_status status = tc_lua_read_arguments(L, n, &call->eager, f, &call->args, err);
  if (!status)
    status = tc_function_bind(f, args->positional, args->n_positional, args->named, args->n_named,
                              call->bound, err);
  if (!status) status = f->run(&call->eager.builder, call->bound, TC_MAX_ARGS, &call->results, err);
  err->status = status;
  return status;
}

static void end_call(struct call *call) {
  tc_eager_end(&call->eager);
  tc_lua_free_arguments(call->eager.ctx->alloc, &call->args);
}

/* Pushes the argument whose very value this is; false if it is none. */
static bool push_argument(lua_State *L, const struct call *call, const struct tc_value *value) {
  for (int i = 0; i < call->args.n_positional; i++) {
    if (call->args.positional[i].kind != TC_ARG_VALUE || call->args.positional[i].value != value) continue;
    lua_pushvalue(L, i + 1);
    return true;
  }
  return false;
}

static int finish_one(lua_State *L, const struct call *call, struct tc_lua_object *object) {
  const struct tc_value *value = call->results.values[0];
  if (!push_argument(L, call, value)) object->tensor = tc_eager_take(value);
  return 1; /* the argument, or the object that lies at the top */
}

/* Stack: count. Pushes a table of so many empty objects. */
static int make_objects(lua_State *L) {
  const int count = (int)lua_tointeger(L, 1);
  tc_lua_push_metatable(L);
  const int metatable = lua_gettop(L);
  lua_createtable(L, count, 0);
  for (int i = 1; i <= count; i++) {
    tc_lua_new_object(L, metatable);
    lua_rawseti(L, -2, i);
  }
  return 1;
}

/* Pushes the results: one table, or each. Returns how many, or -1 with a Lua error at the stack top. */
static int finish_many(lua_State *L, const struct call *call, bool as_list) {
  const int count = call->results.count;
  if (!lua_checkstack(L, count + LUA_MINSTACK)) {
    lua_pushliteral(L, "too many results for the Lua stack");
    return -1;
  }
  lua_pushcfunction(L, make_objects);
  lua_pushinteger(L, count);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) return -1;
  const int list = lua_gettop(L);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, list, i + 1);
    struct tc_lua_object *object = lua_touserdata(L, -1);
    object->tensor = tc_eager_take(call->results.values[i]);
    if (as_list) lua_pop(L, 1);
  }
  return as_list ? 1 : count;
}

int tc_lua_dispatch(lua_State *L) {
  const struct tc_function *f = tc_lua_closure_data(L);
  struct tc_lua_module *m = tc_lua_closure_module(L);
  const int n = lua_gettop(L);
  struct tc_error err;
  struct call call;
  tc_lua_gc_pressure(L, m);
  luaL_checkstack(L, LUA_MINSTACK, f->name);
  struct tc_lua_object *object = f->as_list ? NULL : tc_lua_new_object(L, lua_upvalueindex(TC_LUA_METATABLE));
  int pushed = 0;
  const tc_status status = run_call(L, m, f, n, &call, &err);
  if (!status)
    pushed =
        object && call.results.count == 1 ? finish_one(L, &call, object) : finish_many(L, &call, f->as_list);
  end_call(&call);
  if (status) return tc_lua_raise(L, f->name, &err);
  return pushed < 0 ? lua_error(L) : pushed;
}

int tc_lua_dispatch_unary(lua_State *L) {
  lua_settop(L, 1);
  return tc_lua_dispatch(L);
}

tc_status tc_lua_run_one(lua_State *L, struct tc_lua_module *m, const struct tc_function *function, int n,
                         struct tc_tensor *result, struct tc_error *err) {
  struct call call;
  tc_status status = run_call(L, m, function, n, &call, err);
  if (!status) *result = tc_eager_take(call.results.values[0]);
  end_call(&call);
  return status;
}

void tc_lua_push_function(lua_State *L, const struct tc_function *function) {
  tc_lua_closure(L, tc_lua_dispatch, function);
}
