/* tb.compile and what manages compiled objects: options, reset, counters, backends. */
#include <stdio.h>
#include <string.h>

#include "cache/cache.h"
#include "lua/compiled_object.h"

static const char object_tag = 0;
static const char object_name[] = "tbench.compiled";

struct compiled_object *tc_lua_compiled_at(lua_State *L, int index) {
  struct compiled_object *o = lua_touserdata(L, index);
  return o && lua_rawlen(L, index) >= sizeof *o && o->tag == &object_tag ? o : NULL;
}

static struct compiled_object *check_object(lua_State *L, int index, const char *name) {
  struct compiled_object *o = tc_lua_compiled_at(L, index);
  if (!o) tc_lua_raise_text(L, name, "argument %d is no compiled function (tb.compile makes one)", index);
  return o;
}

/* --- life --- */

void tc_lua_compiled_free_entry(lua_State *L, struct compiled_entry *e) {
  tc_compiled_release(e->compiled);
  tc_guards_free(e->guards, L);
  tc_arena_free(e->recipes);
}

/* What a running call may use outlives it (where even the list of such entries finds no memory, it is never freed). */
static void drop_entry(lua_State *L, struct compiled_object *o, struct compiled_entry *e) {
  if (o->running) (void)tc_vec_push(o->module->ctx.alloc, &o->retired, *e);
  else tc_lua_compiled_free_entry(L, e);
}

void tc_lua_compiled_reset(lua_State *L, struct compiled_object *o) {
  const struct tc_alloc *a = o->module->ctx.alloc;
  for (size_t i = 0; i < o->entries.len; i++) drop_entry(L, o, &o->entries.data[i]);
  for (size_t i = 0; !o->running && i < o->retired.len; i++) tc_lua_compiled_free_entry(L, &o->retired.data[i]);
  if (!o->running) tc_vec_free(a, &o->retired);
  tc_vec_free(a, &o->entries);
  tc_vec_free(a, &o->breaks);
  tc_vec_free(a, &o->fallbacks);
  o->eager = false;
  o->failures = 0;
  o->recompiles = o->captured_ops = 0;
  o->entry_to_kernel_ns = 0;
}

/* The module may be gone already when a state closes: its device is then NULL, and its allocator still works. */
static int object_gc(lua_State *L) {
  struct compiled_object *o = tc_lua_compiled_at(L, 1);
  if (!o) return 0;
  o->running = 0; /* nobody can be calling what is collected; an error may have left a call counted */
  if (o->module->ctx.device) tc_lua_compiled_reset(L, o);
  o->tag = NULL;
  return 0;
}

/* --- options --- */

static int raise_unsupported(lua_State *L, const char *what, const char *value, const char *instead) {
  return luaL_error(L, "unsupported: %s '%s': %s", what, value, instead);
}

static void read_backend(lua_State *L, int options, struct compiled_object *o) {
  if (lua_getfield(L, options, "backend") != LUA_TNIL) {
    const char *name = luaL_checkstring(L, -1);
    const int backend = tc_backend_find(name);
    if (backend < 0) luaL_error(L, "compile: there is no backend '%s'; tb.list_backends() names them", name);
    if (!tc_backend_built((enum tc_backend)backend)) raise_unsupported(L, "backend", name, tc_backend_help((enum tc_backend)backend));
    o->backend = (enum tc_backend)backend;
  }
  lua_pop(L, 1);
}

static void read_mode(lua_State *L, int options) {
  static const char *const known[] = {"reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"};
  if (lua_getfield(L, options, "mode") != LUA_TNIL) {
    const char *mode = luaL_checkstring(L, -1);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      if (!strcmp(mode, known[i])) raise_unsupported(L, "mode", mode, "only mode=default is built so far");
    if (strcmp(mode, "default")) luaL_error(L, "compile: there is no mode '%s'; modes: default, reduce-overhead, max-autotune, max-autotune-no-cudagraphs", mode);
  }
  lua_pop(L, 1);
}

static void read_dynamic(lua_State *L, int options) {
  if (lua_getfield(L, options, "dynamic") != LUA_TNIL && lua_toboolean(L, -1))
    raise_unsupported(L, "dynamic", "true", "shapes are compiled statically so far; each new shape compiles once");
  lua_pop(L, 1);
}

/* options.options = {switch = value}: texts stay alive with the options table. */
static void read_switches(lua_State *L, int options, struct compiled_object *o) {
  if (lua_getfield(L, options, "options") == LUA_TTABLE) {
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
      struct tc_error err = {0};
      if (lua_type(L, -2) != LUA_TSTRING) luaL_error(L, "compile: options holds switches by name");
      const char *value = lua_type(L, -1) == LUA_TBOOLEAN ? (lua_toboolean(L, -1) ? "on" : "off") : lua_tostring(L, -1);
      if (!value || tc_config_set(&o->config, lua_tostring(L, -2), value, &err))
        luaL_error(L, "compile: option '%s': %s", lua_tostring(L, -2), value ? err.message : "a text, number or boolean is expected");
    }
  }
  lua_pop(L, 1);
}

static void check_option_names(lua_State *L, int options) {
  static const char *const names[] = {"backend", "mode", "fullgraph", "dynamic", "options"};
  for (lua_pushnil(L); lua_next(L, options); lua_pop(L, 1)) {
    bool known = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && lua_type(L, -2) == LUA_TSTRING; i++) known |= !strcmp(names[i], lua_tostring(L, -2));
    if (!known) luaL_error(L, "compile: unknown option '%s'; options: backend, mode, fullgraph, dynamic, options", luaL_tolstring(L, -2, NULL));
  }
}

static void read_options(lua_State *L, int options, struct compiled_object *o) {
  luaL_checktype(L, options, LUA_TTABLE);
  check_option_names(L, options);
  read_backend(L, options, o);
  read_mode(L, options);
  read_dynamic(L, options);
  read_switches(L, options, o);
  lua_getfield(L, options, "fullgraph");
  o->fullgraph = lua_toboolean(L, -1);
  lua_pop(L, 1);
}

/* --- tb.compile --- */

/* A Lua function, or a table with __call (then the table is its first argument). */
static bool set_function(lua_State *L, int object, int function) {
  if (lua_isfunction(L, function)) {
    lua_pushvalue(L, function);
    lua_setiuservalue(L, object, OBJECT_FUNCTION);
    return false;
  }
  if (lua_type(L, function) != LUA_TTABLE || luaL_getmetafield(L, function, "__call") == LUA_TNIL)
    luaL_error(L, "compile: a function or a module is expected, not a %s", luaL_typename(L, function));
  lua_setiuservalue(L, object, OBJECT_FUNCTION);
  lua_pushvalue(L, function);
  lua_setiuservalue(L, object, OBJECT_SELF);
  return true;
}

struct compiled_object *tc_lua_compiled_new(lua_State *L, int function_index, int options_index) {
  struct tc_lua_module *m = tc_lua_module(L);
  struct compiled_object *o = lua_newuserdatauv(L, sizeof *o, OBJECT_VALUES);
  const int object = lua_gettop(L);
  memset(o, 0, sizeof *o);
  o->module = m;
  o->backend = TC_BACKEND_inductor;
  o->config = m->ctx.config;
  o->tag = &object_tag;
  luaL_setmetatable(L, object_name);
  o->has_self = set_function(L, object, function_index);
  if (options_index) {
    read_options(L, options_index, o);
    lua_pushvalue(L, options_index);
    lua_setiuservalue(L, object, OBJECT_OPTIONS);
  }
  return o;
}

static int compile(lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 2);
  tc_lua_compiled_new(L, 1, lua_isnil(L, 2) ? 0 : 2);
  return 1;
}

static int reset(lua_State *L) {
  tc_lua_compiled_reset(L, check_object(L, 1, "reset"));
  return 0;
}

/* tb.clear_memory_cache(): what a fresh process has not. */
static int clear_memory_cache(lua_State *L) {
  struct tc_lua_module *m = tc_lua_module(L);
  if (m->ctx.cache) tc_cache_memory_clear(m->ctx.cache);
  return 0;
}

static void set_count(lua_State *L, const char *name, uint64_t value) {
  lua_pushinteger(L, (lua_Integer)value);
  lua_setfield(L, -2, name);
}

static int counters(lua_State *L) {
  const struct tc_counters *c = &tc_lua_module(L)->ctx.counters;
  lua_newtable(L);
  set_count(L, "compiles", c->compiles);
  set_count(L, "cache_misses", c->cache_misses);
  set_count(L, "disk_hits", c->disk_hits);
  set_count(L, "memory_hits", c->memory_hits);
  set_count(L, "disk_bad_entries", c->disk_bad_entries);
  set_count(L, "guard_failures", c->guard_failures);
  set_count(L, "recompiles", c->recompiles);
  set_count(L, "graph_breaks", c->graph_breaks);
  set_count(L, "eager_fallbacks", c->eager_fallbacks);
  set_count(L, "llvm_modules", c->llvm_modules);
  return 1;
}

static int list_backends(lua_State *L) {
  lua_newtable(L);
  for (int i = 0, n = 0; i < TC_BACKEND_COUNT; i++) {
    if (!tc_backend_built((enum tc_backend)i)) continue;
    lua_pushstring(L, tc_backend_name((enum tc_backend)i));
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

static int object_tostring(lua_State *L) {
  const struct compiled_object *o = check_object(L, 1, "tostring");
  lua_pushfstring(L, "compiled function (backend=%s, %d entries%s)", tc_backend_name(o->backend), (int)o->entries.len, o->eager ? ", runs eagerly" : "");
  return 1;
}

void tc_lua_open_compile(lua_State *L) {
  static const luaL_Reg functions[] = {{"compile", compile}, {"reset", reset}, {"clear_memory_cache", clear_memory_cache}, {"counters", counters},
                                       {"list_backends", list_backends}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  tc_lua_open_explain(L);
  luaL_newmetatable(L, object_name);
  tc_lua_closure(L, tc_lua_compiled_call, NULL);
  lua_setfield(L, -2, "__call");
  lua_pushcfunction(L, object_gc);
  lua_setfield(L, -2, "__gc");
  lua_pushcfunction(L, object_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushliteral(L, "compiled function");
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}
