/* Backends that programs register.
 *
 *     tb.register_backend("mine", function(graph, example_inputs) … return function(t1, t2, …) … end end)
 *     tb.register_backend("native", "path/of/plugin.so")
 *     local f = tb.compile(model, { backend = "mine" })
 *
 * 1. The backend gets each captured graph once (backends_graph.c says in what form), and gives something that
 *    can be called: with the graph's input tensors, then its sizes that vary. It returns the outputs, in
 *    order, or a list of them.
 * 2. Outputs are checked: their number, dtypes and sizes are those of the graph. They become objects of their
 *    own.
 * 3. What fails in a backend is an error of the call, which names the backend; nothing falls back silently.
 * 4. Whatever a backend makes belongs to the compiled object (OBJECT_MADE): it is collected with it, cycles
 *    too.
 * 5. All of the backend's code runs in a protected call: no resource of C is held by the unprotected side
 *    when it raises. */
#include "lua/compile/backends.h"

#include <stdio.h>
#include <string.h>

static const char backends_key = 'b';

/* --- the list of them --- */

static void push_registered(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &backends_key); }

bool tc_lua_push_backend(lua_State *L, const char *name) {
  push_registered(L);
  const bool found = lua_getfield(L, -1, name) != LUA_TNIL;
  lua_remove(L, -2);
  if (!found) lua_pop(L, 1);
  return found;
}

const char *tc_lua_backend_name(const struct compiled_object *o) {
  return *o->registered ? o->registered : tc_backend_name(o->backend);
}

/* tb.list_backends(): those that are built, then the registered ones by name. */
static int list_backends(lua_State *L) {
  lua_settop(L, 0);
  lua_newtable(L);
  lua_newtable(L);
  int n = 0, n_registered = 0;
  for (int i = 0; i < TC_BACKEND_COUNT; i++) {
    if (!tc_backend_built((enum tc_backend)i)) continue;
    lua_pushstring(L, tc_backend_name((enum tc_backend)i));
    lua_rawseti(L, 1, ++n);
  }
  push_registered(L);
  for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) {
    int at = ++n_registered; /* sorted as they come in */
    lua_pushvalue(L, -2);
    for (; at > 1; at--) {
      lua_rawgeti(L, 2, at - 1);
      if (strcmp(lua_tostring(L, -1), lua_tostring(L, -2)) <= 0) break;
      lua_rawseti(L, 2, at);
    }
    if (at > 1) lua_pop(L, 1);
    lua_rawseti(L, 2, at);
  }
  for (int i = 1; i <= n_registered; i++) {
    lua_rawgeti(L, 2, i);
    lua_rawseti(L, 1, ++n);
  }
  lua_settop(L, 1);
  return 1;
}

const char *tc_lua_backend_names(lua_State *L) {
  lua_pushcfunction(L, list_backends);
  lua_call(L, 0, 1);
  luaL_Buffer names;
  const int list = lua_gettop(L);
  luaL_buffinit(L, &names);
  for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, list); i++) {
    if (i > 1) luaL_addstring(&names, ", ");
    lua_rawgeti(L, list, i);
    luaL_addvalue(&names);
  }
  luaL_pushresult(&names);
  lua_remove(L, list);
  return lua_tostring(L, -1);
}

static bool callable(lua_State *L, int index) {
  if (lua_isfunction(L, index)) return true;
  if (luaL_getmetafield(L, index, "__call") == LUA_TNIL) return false;
  lua_pop(L, 1);
  return true;
}

static const char *check_name(lua_State *L) {
  static const char me[] = "register_backend";
  if (lua_type(L, 1) != LUA_TSTRING)
    tc_lua_raise_text(L, me, "argument 1 must be the name of a backend, got %s", tc_lua_given(L, 1));
  const char *name = lua_tostring(L, 1);
  const size_t length = lua_rawlen(L, 1);
  if (!length || length >= TC_LUA_BACKEND_NAME || strlen(name) != length)
    tc_lua_raise_text(L, me, "the name of a backend has 1 to %d characters", TC_LUA_BACKEND_NAME - 1);
  if (tc_backend_find(name) >= 0) tc_lua_raise_text(L, me, "'%s' is the name of a backend of tbench", name);
  return name;
}

/* Registering a name again replaces it, for what is compiled from then on; nil takes it away. */
static int register_backend(lua_State *L) {
  lua_settop(L, 2);
  const char *name = check_name(L);
  if (lua_type(L, 2) == LUA_TSTRING) {
    tc_backend_push_plugin(L, name, lua_tostring(L, 2));
    lua_replace(L, 2);
  } else if (!lua_isnil(L, 2) && !callable(L, 2)) {
    return tc_lua_raise_text(
        L, "register_backend",
        "argument 2 must be a function (graph, example_inputs), or the path of a plug-in, got %s",
        tc_lua_given(L, 2));
  }
  push_registered(L);
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, name);
  return 0;
}

/* --- what it makes --- */

void tc_lua_backend_dynamic(lua_State *L, int object, struct compiled_object *o) {
  lua_getiuservalue(L, object, OBJECT_BACKEND);
  const bool is_plugin = tc_backend_is_plugin(L, lua_gettop(L));
  lua_pop(L, 1);
  if (!is_plugin) return;
  if (o->dynamic == TC_LUA_DYNAMIC_ALWAYS)
    luaL_error(L, "compile: backend '%s' is a plug-in, and takes constant sizes alone: not dynamic=true",
               o->registered);
  o->dynamic = TC_LUA_DYNAMIC_NEVER;
}

/* Pushes tensor objects for the inputs of the call. */
static void push_inputs(lua_State *L, const struct tc_backend_call *call) {
  const int n = (int)call->graph->inputs.len;
  luaL_checkstack(L, n + LUA_MINSTACK, "inputs of a backend");
  tc_lua_push_metatable(L);
  const int metatable = lua_gettop(L);
  for (int i = 0; i < n; i++) {
    struct tc_lua_object *object = tc_lua_new_object(L, metatable);
    object->tensor = tc_tensor_share(call->values->inputs[i]);
  }
  lua_remove(L, metatable);
}

/* Stack: the call, what was registered. Gives what can be called. */
static int compile_protected(lua_State *L) {
  const struct tc_backend_call *call = lua_touserdata(L, 1);
  if (tc_backend_is_plugin(L, 2)) {
    tc_backend_plugin_compile(L, 2, call);
    return 1;
  }
  tc_backend_push_graph(L, call);
  const int n = (int)call->graph->inputs.len;
  lua_createtable(L, n, 0);
  const int list = lua_gettop(L);
  push_inputs(L, call);
  for (int i = n; i > 0; i--) lua_rawseti(L, list, i);
  lua_call(L, 2, 1);
  if (!callable(L, -1)) return luaL_error(L, "it must return a function, got %s", tc_lua_given(L, -1));
  return 1;
}

/* The entry's graph, which is alive as long as what runs it, with the callable as its user value. */
struct made {
  const struct tc_graph *graph;
};

static int keep_protected(lua_State *L) {
  struct made *made = lua_newuserdatauv(L, sizeof *made, 1);
  made->graph = lua_touserdata(L, 1);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, 1);
  if (lua_getiuservalue(L, 3, OBJECT_MADE) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 3, OBJECT_MADE);
  }
  const lua_Integer place = (lua_Integer)lua_rawlen(L, -1) + 1;
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, place);
  lua_pushinteger(L, place);
  return 1;
}

/* Message handler: an error becomes a text while it is still protected (its __tostring is the program's). */
static int describe_error(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  return 1;
}

static const char *error_text(lua_State *L) {
  return lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "an unknown error";
}

static tc_status failure(lua_State *L, const char *name, struct tc_error *err) {
  return tc_fail(err, TC_LUA, "backend", "backend '%s' failed: %s", name, error_text(L));
}

tc_status tc_lua_backend_compile(lua_State *L, int object, const struct tc_graph *graph,
                                 const struct call_values *values, struct compiled_entry *e,
                                 struct tc_error *err) {
  struct compiled_object *o = lua_touserdata(L, object);
  struct tc_backend_call call = {o->module, graph, e, values};
  const int top = lua_gettop(L);
  if (!lua_checkstack(L, LUA_MINSTACK))
    return tc_fail(err, TC_NOMEM, "backend", "no room on the Lua stack for a backend");
  o->running++;
  lua_pushcfunction(L, describe_error);
  lua_pushcfunction(L, compile_protected);
  lua_pushlightuserdata(L, &call);
  lua_getiuservalue(L, object, OBJECT_BACKEND);
  tc_status status = lua_pcall(L, 2, 1, top + 1) == LUA_OK ? TC_OK : failure(L, o->registered, err);
  if (!status) {
    lua_pushcfunction(L, keep_protected);
    lua_insert(L, -2);
    lua_pushlightuserdata(L, (void *)(uintptr_t)graph);
    lua_insert(L, -2);
    lua_pushvalue(L, object);
    status = lua_pcall(L, 3, 1, top + 1) == LUA_OK ? TC_OK : failure(L, o->registered, err);
    e->made = status ? 0 : (int)lua_tointeger(L, -1);
  }
  o->running--;
  lua_settop(L, top);
  return status;
}

/* --- runs --- */

struct run {
  struct tc_backend_call call;
  struct tc_lua_object *const *outputs;
};

/* The i-th output lies at the stack top. */
static void take_output(lua_State *L, const struct run *run, int i) {
  const struct tc_node *node = run->call.graph->outputs.data[i];
  const struct tc_tensor *given = tc_lua_tensor(L, lua_gettop(L));
  if (!given) luaL_error(L, "output %d is not a tensor, but %s", i + 1, tc_lua_given(L, lua_gettop(L)));
  bool fits = given->dtype == node->meta.dtype && given->ndim == node->meta.ndim;
  for (int d = 0; d < node->meta.ndim && fits; d++) {
    int64_t size;
    fits =
        tc_sym_eval_checked(node->meta.sizes[d], run->call.values->sizes, &size) && given->sizes[d] == size;
  }
  if (!fits) {
    struct tc_meta now;
    struct tc_strbuf text;
    char message[256];
    tc_meta_of_tensor(given, &now);
    tc_strbuf_init(&text, run->call.module->ctx.alloc);
    tc_meta_print(&text, &now);
    tc_strbuf_puts(&text, ", the graph's is ");
    tc_meta_print(&text, &node->meta);
    snprintf(message, sizeof message, "%s", tc_strbuf_text(&text) ? text.data : "of another form");
    tc_strbuf_free(&text);
    luaL_error(L, "output %d is %s", i + 1, message);
  }
  run->outputs[i]->tensor = tc_tensor_share(given);
}

/* Stack: the run, what can be called. */
static int run_protected(lua_State *L) {
  const struct run *run = lua_touserdata(L, 1);
  const struct tc_graph *graph = run->call.graph;
  const int n_sizes = tc_symtab_sizes(graph->tab), n_outputs = (int)graph->outputs.len;
  lua_pushvalue(L, 2);
  push_inputs(L, &run->call);
  luaL_checkstack(L, n_sizes + LUA_MINSTACK, "sizes of a backend");
  for (int i = 0; i < n_sizes; i++) lua_pushinteger(L, run->call.values->sizes[i]);
  lua_call(L, (int)graph->inputs.len + n_sizes, LUA_MULTRET);
  int n = lua_gettop(L) - 2;
  const bool is_list = n == 1 && lua_istable(L, 3);
  if (is_list) n = lua_rawlen(L, 3) < INT_MAX ? (int)lua_rawlen(L, 3) : INT_MAX;
  if (n != n_outputs)
    return luaL_error(L, "it gives %d output%s, and the graph has %d", n, n == 1 ? "" : "s", n_outputs);
  for (int i = 0; i < n; i++) {
    if (is_list)
      lua_rawgeti(L, 3, i + 1);
    else
      lua_pushvalue(L, 3 + i);
    take_output(L, run, i);
    lua_pop(L, 1);
  }
  return 0;
}

bool tc_lua_backend_run(lua_State *L, int object, const struct compiled_entry *e,
                        const struct call_values *values, struct tc_lua_object *const *outputs) {
  const int top = lua_gettop(L);
  struct run run = {.call = {((struct compiled_object *)lua_touserdata(L, object))->module, NULL, e, values},
                    .outputs = outputs};
  lua_pushcfunction(L, describe_error);
  lua_getiuservalue(L, object, OBJECT_MADE);
  lua_rawgeti(L, -1, e->made);
  run.call.graph = ((const struct made *)lua_touserdata(L, -1))
                       ->graph; /* what lies below the call keeps it, whatever a reset forgets */
  lua_pushcfunction(L, run_protected);
  lua_pushlightuserdata(L, &run);
  lua_getiuservalue(L, -3, 1);
  const bool ran = lua_pcall(L, 2, 0, top + 1) == LUA_OK;
  if (ran) {
    lua_settop(L, top);
    return true;
  }
  if (lua_type(L, -1) != LUA_TSTRING) lua_pushstring(L, error_text(L));
  return false;
}

void tc_lua_open_backends(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"register_backend", register_backend}, {"list_backends", list_backends}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &backends_key) == LUA_TNIL) {
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &backends_key);
  }
  lua_pop(L, 1);
  tc_backend_open_graph(L);
  tc_backend_open_plugin(L);
}
