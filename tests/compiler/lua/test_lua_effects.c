/* Runs the parts of effects.lua. Random programs run under an allocator that can refuse each block at first:
 * Lua then collects all there is to collect, and asks again. */
#include "tests/campaign.h"
#include "tests/compiler/lua/parts.h"
#include "tests/compiler/lua/refusing.h"

PART("lua/effects.lua", fields)
PART("lua/effects.lua", order)
PART("lua/effects.lua", aliases)
PART("lua/effects.lua", variables)
PART("lua/effects.lua", holes)
PART("lua/effects.lua", metatables)
PART("lua/effects.lua", objects)
PART("lua/effects.lua", closures)
PART("lua/effects.lua", failures)

enum { FIRST_PROGRAM = 1, PROGRAMS = 2000 };

static void test_programs(void **state) {
  (void)state;
  struct refusing refusing = {false, false};
  lua_State *L = tests_refusing_state(&refusing);
  lua_pushcfunction(L, part_traceback);
  if (luaL_loadfile(L, TB_SRCDIR "/tests/compiler/lua/effects.lua")) fail_msg("%s", lua_tostring(L, -1));
  lua_pushliteral(L, "programs");
  lua_pushliteral(L, TB_SRCDIR "/tests/compiler");
  lua_pushinteger(L, FIRST_PROGRAM);
  lua_pushinteger(L, campaign(PROGRAMS));
  const int status = lua_pcall(L, 4, 0, 1);
  refusing.on = false;
  if (status) fprintf(stderr, "%s\n", lua_tostring(L, -1)); /* print_error would cut it */
  lua_close(L);
  if (status) fail();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_fields),   cmocka_unit_test(test_order),
                                     cmocka_unit_test(test_aliases),  cmocka_unit_test(test_variables),
                                     cmocka_unit_test(test_holes),    cmocka_unit_test(test_metatables),
                                     cmocka_unit_test(test_objects),  cmocka_unit_test(test_closures),
                                     cmocka_unit_test(test_failures), cmocka_unit_test(test_programs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
