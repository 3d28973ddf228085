/* Options of a workload. Invariant: an option that has no effect is an error, never ignored. */
#include "harness/worker/compile_options.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <string.h>

#include "harness/worker/luacall.h"
#include "tcompile.h"

/* What of tb.compile's options a workload may set; backend and mode are axes of the case. */
static const char *const settable[] = {"fullgraph", "dynamic", "options"};
static const char *const axes[] = {"backend", "mode"};
static const char settable_text[] = "options of a workload are fullgraph, dynamic (true or false) and "
                                    "options (switches by name, as { fuse = \"off\" })";

static bool is_among(const char *name, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!strcmp(names[i], name)) return true;
  return false;
}

void tb_compile_options_check(lua_State *L, int table, const char *suite, const char *workload) {
  const int type = lua_getfield(L, table, "options");
  if (type != LUA_TNIL && type != LUA_TTABLE)
    luaL_error(L, "suite %s, workload %s: options: expected a table for tb.compile, got %s; %s", suite,
               workload, luaL_typename(L, -1), settable_text);
  if (type == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
      const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
      if (name && is_among(name, settable, sizeof settable / sizeof *settable)) continue;
      if (name && is_among(name, axes, sizeof axes / sizeof *axes))
        luaL_error(L, "suite %s, workload %s: options.%s: set by the axis %s; %s", suite, workload, name,
                   name, settable_text);
      luaL_error(L, "suite %s, workload %s: options: there is no option '%s'; %s", suite, workload,
                 luaL_tolstring(L, -2, NULL), settable_text);
    }
  lua_pop(L, 1);
}

/* A fresh table with the workload's options and the case's. */
static void push_options(lua_State *L, int table, const char *backend, const char *mode) {
  lua_newtable(L);
  const int options = lua_gettop(L);
  if (lua_getfield(L, table, "options") == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, options + 1);) {
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_settable(L, options);
    }
  lua_settop(L, options);
  lua_pushstring(L, backend);
  lua_setfield(L, options, "backend");
  lua_pushstring(L, mode);
  lua_setfield(L, options, "mode");
}

void tb_compile_options_apply(lua_State *L, int table, const char *suite, const char *workload,
                              const char *function, const char *backend, const char *mode) {
  tb_lua_push_function(L, function);
  lua_insert(L, -2);
  push_options(L, table, backend, mode);
  const int status = lua_pcall(L, 2, 1, 0);
  if (!status) return;
  const bool is_option =
      status == LUA_ERRRUN && lua_type(L, -1) == LUA_TSTRING && tc_lua_raised(L, -1) == TC_LUA;
  if (is_option) lua_pushfstring(L, "suite %s, workload %s: %s", suite, workload, lua_tostring(L, -1));
  lua_error(L);
}
