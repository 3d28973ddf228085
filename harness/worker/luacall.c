/* Finding and calling functions of the module. */
#include "harness/worker/luacall.h"

#include <lauxlib.h>

void tb_lua_push_function(lua_State *L, const char *function) {
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, "tbench") != LUA_TTABLE)
    luaL_error(L, "the suite has removed tbench from package.loaded");
  if (lua_getfield(L, -1, function) != LUA_TFUNCTION)
    luaL_error(L, "the suite has replaced tb.%s by a %s", function, luaL_typename(L, -1));
  lua_insert(L, -3);
  lua_pop(L, 2);
}

void tb_lua_call_function(lua_State *L, const char *function, int arguments, int results) {
  tb_lua_push_function(L, function);
  lua_insert(L, -arguments - 1);
  lua_call(L, arguments, results);
}
