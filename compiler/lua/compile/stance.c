/* How a Lua state deals with compiled functions as a whole: stances, disable, allow_in_graph, is_compiling.
 *
 *     local before <close> = tb.set_stance("force_eager")   -- until the block ends
 *     local f = tb.disable(function(x) … end)                -- never captured: a call of it is a graph
 *     break, and all below it runs plain
 *     local g = tb.allow_in_graph(function(x) … end)         -- captured without a graph break: one inside is
 *     an error
 *     if tb.is_compiling() then … end                        -- true in captured code alone
 */
#include <string.h>

#include "lua/compile/compiled_object.h"

static const char stance_name[] = "tbench.stance";

static const char *const names[] = {
#define TC_STANCE(name, help) #name,
#include "lua/stances.def"
#undef TC_STANCE
};

static enum tc_lua_stance check_stance(lua_State *L, int index) {
  const char *wanted = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : NULL;
  for (int i = 0; i < TC_LUA_STANCE_COUNT && wanted; i++)
    if (!strcmp(names[i], wanted)) return (enum tc_lua_stance)i;
  luaL_Buffer list;
  luaL_buffinit(L, &list);
  for (int i = 0; i < TC_LUA_STANCE_COUNT; i++) {
    if (i) luaL_addstring(&list, ", ");
    luaL_addstring(&list, names[i]);
  }
  luaL_pushresult(&list);
  const char *all = lua_tostring(L, -1);
  tc_lua_raise_text(L, "set_stance", "argument 1 must be one of %s; got %s", all, tc_lua_given(L, index));
  return TC_LUA_STANCE_default;
}

struct kept_stance {
  struct tc_lua_module *module;
  enum tc_lua_stance before;
};

/* tb.set_stance(name) sets it and gives an object that sets it back when it is closed or called. */
static int set_stance(lua_State *L) {
  struct tc_lua_module *m = tc_lua_module(L);
  lua_settop(L, 1);
  const enum tc_lua_stance stance = check_stance(L, 1);
  struct kept_stance *kept = lua_newuserdatauv(L, sizeof *kept, 0);
  *kept = (struct kept_stance){m, m->stance};
  luaL_setmetatable(L, stance_name);
  m->stance = stance;
  return 1;
}

static int set_back(lua_State *L) {
  const struct kept_stance *kept = luaL_checkudata(L, 1, stance_name);
  kept->module->stance = kept->before;
  return 0;
}

static int get_stance(lua_State *L) {
  lua_pushstring(L, names[tc_lua_module(L)->stance]);
  return 1;
}

/* --- disable, allow_in_graph --- */

static int finished(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return lua_gettop(L);
}

/* Of the functions that disable and allow_in_graph make: upvalue 1 is what they call. */
static int call_inner(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_callk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, finished);
  return finished(L, LUA_OK, 0);
}

/* Upvalue 2 of a function that disable made, on the stack of its calls: closed when one ends, also by an
 * error. */
struct disabled {
  struct tc_lua_module *module;
};
static const char disabled_name[] = "tbench.disabled";

static int finish_disabled(lua_State *L, int status, lua_KContext context) {
  (void)status, (void)context;
  return lua_gettop(L) - 1;
}

static int call_disabled(lua_State *L) {
  const struct disabled *d = lua_touserdata(L, lua_upvalueindex(2));
  lua_pushvalue(L, lua_upvalueindex(2));
  lua_insert(L, 1);
  lua_toclose(L, 1);
  d->module->n_disabled++;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 2);
  lua_callk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, finish_disabled);
  return finish_disabled(L, LUA_OK, 0);
}

static int close_disabled(lua_State *L) {
  const struct disabled *d = luaL_checkudata(L, 1, disabled_name);
  d->module->n_disabled--;
  return 0;
}

bool tc_lua_is_disabled(lua_State *L) {
  lua_Debug level;
  luaL_checkstack(L, 1, "disable");
  for (int i = 0; lua_getstack(L, i, &level); i++) {
    lua_getinfo(L, "f", &level);
    const bool found = lua_tocfunction(L, -1) == call_disabled;
    lua_pop(L, 1);
    if (found) return true;
  }
  return false;
}

static int call_allowed(lua_State *L) { return call_inner(L); }

static void check_callable(lua_State *L, const char *name) {
  lua_settop(L, 1);
  if (!lua_isfunction(L, 1) && luaL_getmetafield(L, 1, "__call") == LUA_TNIL)
    tc_lua_raise_text(
        L, name, "argument 1 must be a function or a module (a value whose metatable has __call), got %s",
        tc_lua_given(L, 1));
  lua_settop(L, 1);
}

/* As torch.compiler.disable it holds for all that the function calls: whatever was compiled runs plain
 * there. */
static int disable(lua_State *L) {
  check_callable(L, "disable");
  struct disabled *d = lua_newuserdatauv(L, sizeof *d, 0);
  *d = (struct disabled){tc_lua_module(L)};
  luaL_setmetatable(L, disabled_name);
  lua_pushcclosure(L, call_disabled, 2);
  return 1;
}

/* torch.compile puts a call of such a function into the graph as one node, without looking inside. Here what
 * it does must become operations like anything else: it is inlined as every Lua function is, but the graph
 * may not break inside. */
static int allow_in_graph(lua_State *L) {
  check_callable(L, "allow_in_graph");
  lua_pushcclosure(L, call_allowed, 1);
  return 1;
}

/* Captured, it is folded to true (capture/library/library.def). */
static int is_compiling(lua_State *L) {
  lua_pushboolean(L, false);
  return 1;
}

const char *tc_lua_stance_function(lua_CFunction function) {
  if (function == call_disabled) return "disabled";
  if (function == call_allowed) return "allowed";
  return function == is_compiling ? "is_compiling" : NULL;
}

void tc_lua_open_stance(lua_State *L) {
  static const luaL_Reg functions[] = {{"set_stance", set_stance},     {"get_stance", get_stance},
                                       {"disable", disable},           {"allow_in_graph", allow_in_graph},
                                       {"is_compiling", is_compiling}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  luaL_newmetatable(L, stance_name);
  lua_pushcfunction(L, set_back);
  lua_setfield(L, -2, "__close");
  lua_pushcfunction(L, set_back);
  lua_setfield(L, -2, "__call");
  lua_pop(L, 1);
  luaL_newmetatable(L, disabled_name);
  lua_pushcfunction(L, close_disabled);
  lua_setfield(L, -2, "__close");
  lua_pop(L, 1);
}
