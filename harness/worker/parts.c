/* Parts of a workload, compiled each by itself. Invariant: the objects of the list are in the order in which
 * they were compiled, in every process alike, and no part is compiled after tb_parts_push. */
#include "harness/worker/parts.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "harness/worker/compile_options.h"
#include "harness/worker/luacall.h"

enum { AT_OBJECTS = 1, AT_TABLE, AT_CASE, UPVALUES = AT_CASE };

/* compile(f) */
static int compile_part(lua_State *L) {
  const struct tb_parts_case *kase = lua_touserdata(L, lua_upvalueindex(AT_CASE));
  luaL_checkany(L, 1);
  lua_settop(L, 1);
  if (!lua_istable(L, lua_upvalueindex(AT_OBJECTS))) return 1;
  if (!kase) return luaL_error(L, "compile: parts are compiled while the workload is made, not later");
  lua_pushvalue(L, lua_upvalueindex(AT_TABLE));
  lua_pushvalue(L, 1);
  tb_compile_options_apply(L, 2, kase->suite, kase->workload, "compile", kase->backend, kase->mode);
  lua_pushvalue(L, -1);
  lua_rawseti(L, lua_upvalueindex(AT_OBJECTS), (lua_Integer)lua_rawlen(L, lua_upvalueindex(AT_OBJECTS)) + 1);
  return 1;
}

void tb_parts_push(lua_State *L, int table, const struct tb_parts_case *kase, bool compiled, int *objects) {
  const int top = lua_gettop(L), list = top + 1, maker = top + 2;
  if (compiled)
    lua_newtable(L);
  else
    lua_pushnil(L);
  lua_pushvalue(L, list);
  lua_pushvalue(L, table);
  lua_pushlightuserdata(L, (void *)kase);
  lua_pushcclosure(L, compile_part, UPVALUES);
  if (lua_getfield(L, table, "parts") != LUA_TFUNCTION)
    luaL_error(L, "workload %s: parts: expected function(compile) that returns the function to call, got %s",
               kase->workload, luaL_typename(L, -1));
  lua_pushvalue(L, maker);
  lua_call(L, 1, 1);
  if (!lua_isfunction(L, -1))
    luaL_error(L, "workload %s: parts: expected it to return a function, got %s", kase->workload,
               luaL_typename(L, -1));
  lua_pushnil(L); /* the case goes out of scope */
  lua_setupvalue(L, maker, AT_CASE);
  if (compiled && !lua_rawlen(L, list))
    luaL_error(L, "workload %s: parts: nothing was compiled", kase->workload);
  lua_pushvalue(L, list);
  *objects = compiled ? luaL_ref(L, LUA_REGISTRYINDEX) : LUA_NOREF;
  if (!compiled) lua_pop(L, 1);
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}

void tb_parts_reset(lua_State *L, int objects) {
  const int list = lua_gettop(L) + 1;
  lua_rawgeti(L, LUA_REGISTRYINDEX, objects);
  for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, list); i++) {
    lua_rawgeti(L, list, i);
    tb_lua_call_function(L, "reset", 1, 0);
  }
  lua_settop(L, list - 1);
}

/* --- what they were --- */

/* The hash of two hashes' texts, at the stack top in their place. */
static void join_hashes(lua_State *L, const char *a, const char *b) {
  char text[TC_SHA256_HEX];
  snprintf(text, sizeof text, "%s", a);
  tc_sha256_join(text, b);
  lua_pushstring(L, text);
}

/* The value at the stack top joins into[key], whose key lies below it; both are taken off. */
static void join(lua_State *L, int into) {
  const int value = lua_gettop(L), key = value - 1, own = value + 1;
  lua_pushvalue(L, key);
  lua_gettable(L, into);
  if (lua_type(L, key) == LUA_TNUMBER) { /* an element of a list */
    lua_pushvalue(L, value);
    lua_rawseti(L, into, (lua_Integer)lua_rawlen(L, into) + 1);
  } else if (lua_istable(L, value) && lua_istable(L, own)) {
    for (lua_pushnil(L); lua_next(L, value);) {
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      join(L, own);
    }
  } else {
    lua_pushvalue(L, key);
    if (lua_isnil(L, own))
      lua_pushvalue(L, value);
    else if (lua_type(L, value) == LUA_TNUMBER)
      lua_pushnumber(L, lua_tonumber(L, own) + lua_tonumber(L, value));
    else if (!strcmp(lua_tostring(L, key), "artifact"))
      join_hashes(L, lua_tostring(L, own), lua_tostring(L, value));
    else
      lua_pushvalue(L, own);
    lua_settable(L, into);
  }
  lua_settop(L, key - 1);
}

void tb_parts_stats(lua_State *L, int objects) {
  const int list = lua_gettop(L) + 1, sum = list + 1;
  luaL_checkstack(L, LUA_MINSTACK, "stats of parts");
  lua_rawgeti(L, LUA_REGISTRYINDEX, objects);
  lua_newtable(L);
  for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, list); i++) {
    lua_pushliteral(L, "all");
    lua_rawgeti(L, list, i);
    tb_lua_call_function(L, "stats", 1, 1);
    join(L, sum);
  }
  lua_getfield(L, sum, "all");
  lua_replace(L, list);
  lua_settop(L, list);
}
