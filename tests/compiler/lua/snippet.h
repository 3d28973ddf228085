/* Running pieces of Lua in tests: a state with tbench open as the global `tb`, and assertions on what a piece
 * does. */
#ifndef TESTS_LUA_SNIPPET_H
#define TESTS_LUA_SNIPPET_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

#include "tcompile.h"

static inline int open_state(void **state) {
  lua_State *L = luaL_newstate();
  if (!L) return -1;
  luaL_openlibs(L);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  lua_setglobal(L, "tb");
  *state = L;
  return 0;
}

static inline int close_state(void **state) {
  lua_close(*state);
  return 0;
}

/* Runs a piece whose lines count from 1 in the file name test.lua; a Lua error fails the test with its
 * message. */
static inline void run(lua_State *L, const char *text) {
  if (luaL_loadbufferx(L, text, strlen(text), "@test.lua", "t") != LUA_OK || lua_pcall(L, 0, 0, 0) != LUA_OK)
    fail_msg("%s", lua_tostring(L, -1));
}

/* The piece must raise, and the message must hold `part`. */
static inline void run_raises(lua_State *L, const char *text, const char *part) {
  if (luaL_loadbufferx(L, text, strlen(text), "@test.lua", "t") != LUA_OK)
    fail_msg("%s", lua_tostring(L, -1));
  if (lua_pcall(L, 0, 0, 0) == LUA_OK) fail_msg("no error, but \"%s\" was expected", part);
  if (!strstr(lua_tostring(L, -1), part))
    fail_msg("the error \"%s\" does not say \"%s\"", lua_tostring(L, -1), part);
  lua_pop(L, 1);
}

/* The piece returns a text, which must be `expected`. */
static inline void run_gives(lua_State *L, const char *text, const char *expected) {
  if (luaL_loadbufferx(L, text, strlen(text), "@test.lua", "t") != LUA_OK || lua_pcall(L, 0, 1, 0) != LUA_OK)
    fail_msg("%s", lua_tostring(L, -1));
  assert_string_equal(luaL_tolstring(L, -1, NULL), expected);
  lua_pop(L, 2);
}

#endif
