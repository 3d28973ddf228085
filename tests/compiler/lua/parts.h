/* Runs a part of a Lua file under tests/, in a state of its own: the file gets the part's name and the path
 * of tests/, and those that draw programs at random the first seed and the number of seeds. */
#ifndef TESTS_LUA_PARTS_H
#define TESTS_LUA_PARTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "tcompile.h"
#include "tests/campaign.h"

#ifndef TB_SRCDIR
#define TB_SRCDIR "."
#endif

static inline int part_traceback(lua_State *L) {
  luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
  return 1;
}

/* `file` is below tests/. A Lua error fails the test with its message and traceback. */
static inline void run_part(const char *file, const char *part, int seeds) {
  struct tc_config config;
  tc_config_default(&config);
  config.verify = true;
  config.cache = false;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  tc_lua_configure(L, &config, 0);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  lua_pushcfunction(L, part_traceback);
  lua_pushfstring(L, "%s/tests/compiler/%s", TB_SRCDIR, file);
  if (luaL_loadfile(L, lua_tostring(L, -1))) fail_msg("%s", lua_tostring(L, -1));
  lua_remove(L, -2);
  lua_pushstring(L, part);
  lua_pushstring(L, TB_SRCDIR "/tests/compiler");
  lua_pushinteger(L, 1);
  lua_pushinteger(L, campaign(seeds));
  const int status = lua_pcall(L, 4, 0, 2); /* 1 is the module */
  if (status) print_error("%s\n", lua_tostring(L, -1));
  lua_close(L);
  if (status) fail();
}

#define PART(file, name)                                                                                     \
  static void test_##name(void **state) {                                                                    \
    (void)state;                                                                                             \
    run_part(file, #name, 0);                                                                                \
  }
#define PART_OF_SEEDS(file, name, seeds)                                                                     \
  static void test_##name(void **state) {                                                                    \
    (void)state;                                                                                             \
    run_part(file, #name, seeds);                                                                            \
  }

#endif
