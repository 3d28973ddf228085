/* A Lua state with the module, under an allocator that can refuse each block at first: Lua then collects all
 * there is to collect, and asks again. The global function `stress` turns that on and off. */
#ifndef TESTS_LUA_REFUSING_H
#define TESTS_LUA_REFUSING_H

#include <stdbool.h>
#include <stdlib.h>

#include <lauxlib.h>
#include <lualib.h>

#include "tcompile.h"

struct refusing {
  bool on, refused;
};

static inline void *tests_refusing_allocate(void *data, void *block, size_t old_bytes, size_t new_bytes) {
  struct refusing *r = data;
  if (!new_bytes) {
    free(block);
    return NULL;
  }
  const bool grows = !block || new_bytes > old_bytes;
  r->refused = r->on && grows && !r->refused;
  return r->refused ? NULL : realloc(block, new_bytes);
}

static inline int tests_set_stress(lua_State *L) {
  struct refusing *r = lua_touserdata(L, lua_upvalueindex(1));
  r->on = lua_toboolean(L, 1);
  return 0;
}

/* `refusing` outlives the state. */
static inline lua_State *tests_refusing_state(struct refusing *refusing) {
  struct tc_config config;
  tc_config_default(&config);
  config.verify = true;
  config.cache = false;
  lua_State *L = lua_newstate(tests_refusing_allocate, refusing);
  luaL_openlibs(L);
  tc_lua_configure(L, &config, 0);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  lua_pop(L, 1);
  lua_pushlightuserdata(L, refusing);
  lua_pushcclosure(L, tests_set_stress, 1);
  lua_setglobal(L, "stress");
  return L;
}

#endif
