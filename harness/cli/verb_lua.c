/* `tbench lua FILE [ARGUMENT…]`: a Lua program with the module, such as graph_runnable.lua of a debug folder.
 * Whatever stands behind FILE is the program's own, in `arg` and `...`, as with the lua program; switches
 * come from the environment (TB_…). */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/verb.h"
#include "harness/cli/verbs.h"
#include "tcompile.h"

enum {
  NOT_LOADED = -1
}; /* status of a program that could not be loaded: a file that is none, a switch in the environment */

static int message_handler(lua_State *L) {
  const char *message = luaL_tolstring(L, 1, NULL);
  luaL_traceback(L, L, message, 1);
  return 1;
}

struct program {
  int argc;
  char *const *argv;
  int status;
};

static int run_protected(lua_State *L) {
  struct program *p = lua_touserdata(L, 1);
  luaL_openlibs(L);
  p->status = NOT_LOADED;
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  lua_createtable(L, p->argc - 1, 1);
  for (int i = 0; i < p->argc; i++) {
    lua_pushstring(L, p->argv[i]);
    lua_rawseti(L, -2, i);
  }
  lua_setglobal(L, "arg");
  lua_settop(L, 0);
  if (luaL_loadfile(L, p->argv[0])) return lua_error(L);
  p->status = 0;
  luaL_checkstack(L, p->argc, "arguments");
  for (int i = 1; i < p->argc; i++) lua_pushstring(L, p->argv[i]);
  lua_call(L, p->argc - 1, 0);
  return 0;
}

int tb_verb_lua(int argc, char *const *argv) {
  struct program program = {.argc = argc, .argv = argv};
  if (!argc) return tb_verb_usage("lua", "name the file of a Lua program");
  lua_State *L = luaL_newstate();
  if (!L) return tb_verb_failed("lua", "out of memory");
  lua_pushcfunction(L, message_handler);
  lua_pushcfunction(L, run_protected);
  lua_pushlightuserdata(L, &program);
  const int status = lua_pcall(L, 1, 0, 1);
  int code = TB_EXIT_PASS;
  if (status) {
    const char *message = lua_tostring(L, -1);
    const int length = program.status == NOT_LOADED ? (int)strcspn(message, "\n") : (int)strlen(message);
    fflush(stdout);
    code = program.status == NOT_LOADED ? tb_verb_usage("lua", "%.*s", length, message)
                                        : tb_verb_failed("lua", "%.*s", length, message);
  }
  lua_close(L);
  return code;
}
