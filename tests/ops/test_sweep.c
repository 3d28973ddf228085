/* Runs the parts of sweep.lua, each in a Lua state of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "tcompile.h"

#ifndef TB_SRCDIR
#define TB_SRCDIR "."
#endif

static int traceback(lua_State *L) {
  luaL_traceback(L, L, lua_tostring(L, 1), 1);
  return 1;
}

static void run_part(const char *part) {
  struct tc_config config;
  tc_config_default(&config);
  config.verify = true;
  config.cache = false;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  tc_lua_configure(L, &config, 0);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  lua_pushcfunction(L, traceback);
  if (luaL_loadfile(L, TB_SRCDIR "/tests/ops/sweep.lua")) fail_msg("%s", lua_tostring(L, -1));
  lua_pushstring(L, part);
  const int status = lua_pcall(L, 1, 0, -3);
  if (status) {
    print_error("%s\n", lua_tostring(L, -1));
    lua_close(L);
    fail();
  }
  lua_close(L);
}

#define PART(name) \
  static void test_##name(void **state) { (void)state; run_part(#name); }
PART(f32)
PART(f64)
PART(bf16)
PART(special)
PART(empty)
PART(strides)
PART(random)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_f32),   cmocka_unit_test(test_f64),     cmocka_unit_test(test_bf16),  cmocka_unit_test(test_special),
                                     cmocka_unit_test(test_empty), cmocka_unit_test(test_strides), cmocka_unit_test(test_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
