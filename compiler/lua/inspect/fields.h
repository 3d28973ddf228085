/* Fields of the table at the stack top. */
#ifndef TC_LUA_FIELDS_H
#define TC_LUA_FIELDS_H

#include <lua.h>
#include <stdint.h>

static inline void tc_set_number(lua_State *L, const char *name, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

static inline void tc_set_integer(lua_State *L, const char *name, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

static inline void tc_set_text(lua_State *L, const char *name, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, name);
}

#endif
