/* tb.compile and what manages compiled objects: options, reset, counters, backends.
 *
 * tb.compile(function or callable [, {backend=, mode=, fullgraph=, dynamic=, options={switch=value}}])
 *
 * What it returns computes what the plain function does: results, side effects and errors are equal, but for
 * these, where it follows torch.compile:
 *  1. Operations that no result needs are not run (backend=eager alone runs them), and so do not raise: an
 *     index out of range in an unused gather, or in the part of one that nothing reads, is an error of the
 *     plain function only.
 *  2. Floating-point results may differ by rounding, within the bounds that the suites check.
 *  3. The call is a level of its own on the Lua stack, for error(…, 2) and debug.
 *  4. Two conflicts of a program with itself are errors: a graph break inside of a function of
 *     tb.allow_in_graph, and a size that tb.mark_dynamic marked but the code fixes. So is whatever a
 *     registered backend raises.
 * Behind a graph break the function goes on in pieces (pieces.c); what cannot be cut there runs as it is,
 * counted and named in tb.stats. Changing sizes and numbers are left open in the next compile (dynamic=nil),
 * from the start (true) or never (false). A compiled function that a captured one calls is inlined; its own
 * options play no part then. */
#include <stdio.h>
#include <string.h>

#include "cache/cache.h"
#include "lua/compile/compiled_object.h"

static const char object_tag = 0, objects_key = 0;
static const char object_name[] = "tbench.compiled";

struct compiled_object *tc_lua_compiled_at(lua_State *L, int index) {
  struct compiled_object *o = lua_touserdata(L, index);
  if (lua_tocfunction(L, index) == tc_lua_compiled_function && lua_getupvalue(L, index, TC_LUA_EXTRA)) {
    o = lua_touserdata(L, -1);
    lua_pop(L, 1); /* the function keeps it */
    return o && o->tag == &object_tag ? o : NULL;
  }
  return o && lua_rawlen(L, index) >= sizeof *o && o->tag == &object_tag ? o : NULL;
}

static struct compiled_object *check_object(lua_State *L, int index, const char *name) {
  struct compiled_object *o = tc_lua_compiled_at(L, index);
  if (!o) tc_lua_raise_text(L, name, "argument %d is not a compiled function (tb.compile makes one)", index);
  return o;
}

void tc_lua_push_weak_table(lua_State *L) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

/* Every object of the state is listed, weakly, for tb.reset(). */
static void list_object(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &objects_key);
  lua_pushvalue(L, -2);
  lua_pushboolean(L, true);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

/* --- life --- */

void tc_lua_compiled_free_entry(lua_State *L, struct compiled_entry *e) {
  for (int i = 0; i < e->n_scalars; i++) tc_tensor_release(&e->scalars[i].tensor);
  tc_compiled_release(e->compiled);
  tc_guards_free(e->guards, L);
  tc_arena_free(e->recipes);
}

/* What a running call may use outlives it (where even the list of such entries finds no memory, it is never
 * freed). */
static void drop_entry(lua_State *L, struct compiled_object *o, struct compiled_entry *e) {
  if (o->running)
    (void)tc_vec_push(o->module->ctx.alloc, &o->retired, *e);
  else
    tc_lua_compiled_free_entry(L, e);
}

/* Of an object that may be on the way to its end: without its user values. */
static void drop_all(lua_State *L, struct compiled_object *o) {
  const struct tc_alloc *a = o->module->ctx.alloc;
  tc_guards_dispatch_free(o->dispatch);
  o->dispatch = NULL;
  tc_guards_free(o->first, L);
  o->first = NULL;
  o->was_called = false;
  for (size_t i = 0; i < o->entries.len; i++) drop_entry(L, o, &o->entries.data[i]);
  for (size_t i = 0; !o->running && i < o->retired.len; i++)
    tc_lua_compiled_free_entry(L, &o->retired.data[i]);
  if (!o->running) tc_vec_free(a, &o->retired);
  tc_vec_free(a, &o->entries);
  tc_vec_free(a, &o->changed);
  tc_vec_free(a, &o->breaks);
  tc_vec_free(a, &o->fallbacks);
  tc_vec_free(a, &o->recompile_notes);
  o->eager = false;
  o->forgets = true;
  o->failures = 0;
  o->n_wrapped = 0;
  o->recompiles = o->captured_ops = 0;
  o->entry_to_kernel_ns = 0;
}

void tc_lua_compiled_reset(lua_State *L, int object) {
  drop_all(L, lua_touserdata(L, object));
  lua_pushnil(L);
  lua_setiuservalue(L, object, OBJECT_MADE); /* what is running is on the stack */
}

/* The module may be gone already when a state closes: its device is then NULL, and its allocator still
 * works. */
static int object_gc(lua_State *L) {
  struct compiled_object *o = tc_lua_compiled_at(L, 1);
  if (!o) return 0;
  o->running = 0; /* nobody can be calling what is collected; an error may have left a call counted */
  if (o->module->ctx.device) drop_all(L, o);
  o->tag = NULL;
  return 0;
}

/* --- tb.compile --- */

/* The function to compile becomes the object's: a function; what another compiled object compiles; or the
 * __call of any other value, which is then the first argument. */
static bool set_function(lua_State *L, int object, int callable) {
  const struct compiled_object *inner = tc_lua_compiled_at(L, callable);
  bool has_self = false;
  if (inner) {
    tc_lua_compiled_parts(L, callable);
    has_self = inner->has_self;
  } else if (lua_isfunction(L, callable)) {
    lua_pushvalue(L, callable);
    lua_pushnil(L);
  } else {
    const int type = luaL_getmetafield(L, callable, "__call");
    if (type != LUA_TFUNCTION) {
      luaL_error(L,
                 type == LUA_TNIL
                     ? "compile: argument 1 must be a function or a module (a value whose metatable has "
                       "__call), got %s"
                     : "compile: argument 1 must be a function or a module; its __call is no function (%s)",
                 tc_lua_given(L, callable));
    }
    lua_pushvalue(L, callable);
    has_self = true;
  }
  lua_setiuservalue(L, object, OBJECT_SELF);
  lua_setiuservalue(L, object, OBJECT_FUNCTION);
  return has_self;
}

void tc_lua_push_object(lua_State *L, int index) {
  if (lua_iscfunction(L, index))
    lua_getupvalue(L, index, TC_LUA_EXTRA);
  else
    lua_pushvalue(L, index);
}

void tc_lua_compiled_parts(lua_State *L, int index) {
  tc_lua_push_object(L, index);
  lua_getiuservalue(L, -1, OBJECT_FUNCTION);
  lua_getiuservalue(L, -2, OBJECT_SELF);
  lua_remove(L, -3);
}

struct compiled_object *tc_lua_compiled_new(lua_State *L, int function_index, int options_index) {
  struct tc_lua_module *m = tc_lua_module(L);
  struct compiled_object *o = lua_newuserdatauv(L, sizeof *o, OBJECT_VALUES);
  const int object = lua_gettop(L);
  memset(o, 0, sizeof *o);
  o->module = m;
  o->root = o;
  o->backend = TC_BACKEND_inductor;
  o->config = m->ctx.config;
  o->tag = &object_tag;
  luaL_setmetatable(L, object_name);
  list_object(L);
  o->has_self = set_function(L, object, function_index);
  if (options_index)
    tc_lua_read_options(L, options_index, object, o);
  else
    tc_lua_no_options(o);
  return o;
}

struct compiled_object *tc_lua_compiled_like(lua_State *L, int function_index, int like) {
  const struct compiled_object *other = lua_touserdata(L, like);
  function_index = lua_absindex(L, function_index);
  struct compiled_object *o = lua_newuserdatauv(L, sizeof *o, OBJECT_VALUES);
  memset(o, 0, sizeof *o);
  o->module = other->module;
  o->root = other->root;
  o->backend = other->backend;
  o->config = other->config;
  o->dynamic = other->dynamic;
  memcpy(o->registered, other->registered, sizeof o->registered);
  lua_getiuservalue(L, like, OBJECT_BACKEND);
  lua_setiuservalue(L, -2, OBJECT_BACKEND);
  lua_getiuservalue(L, like, OBJECT_TEXTS); /* the texts of its switches */
  lua_setiuservalue(L, -2, OBJECT_TEXTS);
  lua_pushvalue(L, function_index);
  lua_setiuservalue(L, -2, OBJECT_FUNCTION);
  if (other->root == other)
    lua_pushvalue(L, like);
  else
    lua_getiuservalue(L, like, OBJECT_ROOT);
  lua_setiuservalue(L, -2, OBJECT_ROOT);
  o->tag = &object_tag;
  luaL_setmetatable(L, object_name);
  list_object(L);
  return o;
}

static int compile(lua_State *L) {
  lua_settop(L, 2);
  const struct compiled_object *o = tc_lua_compiled_new(L, 1, lua_isnil(L, 2) ? 0 : 2);
  if (!o->has_self) tc_lua_closure_over(L, tc_lua_compiled_function, NULL);
  return 1;
}

/* tb.reset(object), or of all: what was compiled, learnt and given up is forgotten. Its pieces behind breaks
 * go with it. */
static int reset(lua_State *L) {
  if (!lua_isnone(L, 1)) {
    check_object(L, 1, "reset");
    tc_lua_push_object(L, 1);
    tc_lua_compiled_reset(L, lua_gettop(L));
    return 0;
  }
  lua_rawgetp(L, LUA_REGISTRYINDEX, &objects_key);
  for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
    if (tc_lua_compiled_at(L, 2)) tc_lua_compiled_reset(L, 2);
  }
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

/* Graph breaks by the name of their reason. */
static void set_break_counts(lua_State *L, const struct tc_counters *c) {
  _Static_assert((int)TC_BREAK_COUNT <= (int)TC_MAX_BREAK_REASONS, "a counter for each reason");
  lua_createtable(L, 0, TC_BREAK_COUNT);
  for (int i = 0; i < TC_BREAK_COUNT; i++) set_count(L, tc_break_name((enum tc_break_reason)i), c->breaks[i]);
  lua_setfield(L, -2, "breaks");
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
  set_break_counts(L, c);
  set_count(L, "eager_fallbacks", c->eager_fallbacks);
  set_count(L, "llvm_modules", c->llvm_modules);
  set_count(L, "searches", c->searches);
  return 1;
}

static int object_tostring(lua_State *L) {
  const struct compiled_object *o = check_object(L, 1, "tostring");
  lua_pushfstring(L, "compiled function (backend=%s, %d %s%s)", tc_lua_backend_name(o), (int)o->entries.len,
                  o->entries.len == 1 ? "entry" : "entries", o->eager ? ", runs eagerly" : "");
  return 1;
}

void tc_lua_open_compile(lua_State *L) {
  static const luaL_Reg functions[] = {{"compile", compile},
                                       {"reset", reset},
                                       {"clear_memory_cache", clear_memory_cache},
                                       {"counters", counters},
                                       {"mark_dynamic", tc_lua_mark_dynamic},
                                       {"check_guards", tc_lua_check_guards},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  tc_lua_open_explain(L);
  tc_lua_open_pieces(L);
  tc_lua_open_stance(L);
  tc_lua_open_backends(L);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &objects_key) == LUA_TNIL) {
    tc_lua_push_weak_table(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &objects_key);
  }
  lua_pop(L, 1);
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
