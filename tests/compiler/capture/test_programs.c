/* Differential: random Lua programs, plain and compiled (programs.lua). Without arguments a test; else
 *
 *     tests/compiler/capture/test_programs FIRST COUNT     runs the programs of these seeds, and shows the
 *     first that differs
 *
 * so that one program is run again by its number: tests/compiler/capture/test_programs NUMBER 1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/campaign.h"
#include "tests/compiler/lua/refusing.h"

enum { FIRST_PROGRAM = 1, PROGRAMS = 400, CAPTURED_OF_100 = 80 };

#ifndef TB_SRCDIR
#define TB_SRCDIR "."
#endif

/* Runs the programs; true: none differs. */
static bool run_programs(lua_Integer first, lua_Integer count, lua_Integer *captured) {
  struct refusing refusing = {false, false};
  lua_State *L = tests_refusing_state(&refusing);
  bool good = luaL_loadfile(L, TB_SRCDIR "/tests/compiler/capture/programs.lua") == LUA_OK;
  if (good) {
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, "tbench");
    lua_remove(L, -2);
    lua_pushinteger(L, first);
    lua_pushinteger(L, count);
    lua_getglobal(L, "stress");
    good = lua_pcall(L, 4, 2, 0) == LUA_OK;
    refusing.on = false;
    if (good) {
      *captured = lua_tointeger(L, -1);
      lua_pop(L, 1);
      good = lua_rawlen(L, -1) == 0;
    }
  }
  if (!good) fprintf(stderr, "%s\n", lua_tostring(L, -1)); /* print_error would cut it */
  lua_close(L);
  return good;
}

static void test_programs(void **state) {
  (void)state;
  lua_Integer captured = 0;
  const int programs = campaign(PROGRAMS);
  assert_true(run_programs(FIRST_PROGRAM, programs, &captured));
  assert_in_range(captured * 100 / programs, CAPTURED_OF_100, 100);
}

int main(int n, char **arguments) {
  enum { FIRST = 1, COUNT, ARGUMENTS, DECIMAL = 10 };
  if (n == ARGUMENTS) {
    lua_Integer captured = 0;
    const long long first = strtoll(arguments[FIRST], NULL, DECIMAL),
                    count = strtoll(arguments[COUNT], NULL, DECIMAL);
    const bool good = run_programs(first, count, &captured);
    printf("programs %lld to %lld: %s, %lld captured\n", first, first + count - 1,
           good ? "equal" : "one differs", (long long)captured);
    return !good;
  }
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
