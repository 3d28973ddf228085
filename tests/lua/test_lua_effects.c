/* Runs the parts of effects.lua. Random programs run under an allocator that can refuse each block at first: Lua then collects all
 * there is to collect, and asks again. */
#include "tests/lua/parts.h"

PART("lua/effects.lua", fields)
PART("lua/effects.lua", order)
PART("lua/effects.lua", aliases)
PART("lua/effects.lua", variables)
PART("lua/effects.lua", metatables)
PART("lua/effects.lua", objects)
PART("lua/effects.lua", closures)
PART("lua/effects.lua", failures)

enum { FIRST_PROGRAM = 1, PROGRAMS = 2000 };

struct refusing { bool on, refused; };

static void *allocate(void *data, void *block, size_t old_bytes, size_t new_bytes) {
  struct refusing *r = data;
  if (!new_bytes) {
    free(block);
    return NULL;
  }
  const bool grows = !block || new_bytes > old_bytes;
  r->refused = r->on && grows && !r->refused;
  return r->refused ? NULL : realloc(block, new_bytes);
}

static int set_stress(lua_State *L) {
  struct refusing *r = lua_touserdata(L, lua_upvalueindex(1));
  r->on = lua_toboolean(L, 1);
  return 0;
}

static void test_programs(void **state) {
  (void)state;
  struct refusing refusing = {false, false};
  struct tc_config config;
  tc_config_default(&config);
  config.verify = true;
  config.cache = false;
  lua_State *L = lua_newstate(allocate, &refusing);
  luaL_openlibs(L);
  tc_lua_configure(L, &config, 0);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  lua_pushlightuserdata(L, &refusing);
  lua_pushcclosure(L, set_stress, 1);
  lua_setglobal(L, "stress");
  lua_pushcfunction(L, part_traceback);
  if (luaL_loadfile(L, TB_SRCDIR "/tests/lua/effects.lua")) fail_msg("%s", lua_tostring(L, -1));
  lua_pushliteral(L, "programs");
  lua_pushliteral(L, TB_SRCDIR "/tests");
  lua_pushinteger(L, FIRST_PROGRAM);
  lua_pushinteger(L, PROGRAMS);
  const int status = lua_pcall(L, 4, 0, 2); /* 1 is the module */
  refusing.on = false;
  if (status) fprintf(stderr, "%s\n", lua_tostring(L, -1)); /* print_error would cut it */
  lua_close(L);
  if (status) fail();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_fields),    cmocka_unit_test(test_order),      cmocka_unit_test(test_aliases),
                                     cmocka_unit_test(test_variables), cmocka_unit_test(test_metatables), cmocka_unit_test(test_objects),
                                     cmocka_unit_test(test_closures),  cmocka_unit_test(test_failures),   cmocka_unit_test(test_programs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
