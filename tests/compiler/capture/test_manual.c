/* Functions by the sections of the manual, broken at every instruction in turn (exhaust.lua). Every opcode is
 * among them. */
#include "tests/compiler/lua/snippet.h"

#include <stdio.h>
#include <stdlib.h>

#include "capture/bytecode/opcodes.h"
#include "tests/compiler/capture/resume_driver.h"

enum { PARTS = 4, FUNCTIONS_AT_LEAST = 165, FORCED_AT_LEAST = 900 }; /* forced: in each part */

static void check_opcodes(lua_State *L, int index) {
  for (int op = 0; op < TC_LUA_OPCODES; op++) {
    if (lua_getfield(L, index, tc_opcode_row(op)->name) == LUA_TNIL)
      fail_msg("no function has the opcode %s", tc_opcode_row(op)->name);
    lua_pop(L, 1);
  }
}

static void run_part_of(lua_State *L, int part) {
  enum { TEXT = 1, OPCODES, FUNCTIONS, FORCED, RESULTS = FORCED };
  const char *root = getenv("TB_SRCDIR");
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/compiler/capture/exhaust.lua", root ? root : ".");
  if (luaL_loadfile(L, path) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  lua_getglobal(L, "tb");
  tests_open_resume_driver(L);
  lua_pushinteger(L, part);
  lua_pushinteger(L, PARTS);
  if (lua_pcall(L, 4, RESULTS, 0) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  if (*lua_tostring(L, TEXT)) {
    fprintf(stderr, "%s\n", lua_tostring(L, TEXT)); /* fail_msg would cut it */
    fail();
  }
  check_opcodes(L, OPCODES);
  assert_true(lua_tointeger(L, FUNCTIONS) >= FUNCTIONS_AT_LEAST);
  assert_true(lua_tointeger(L, FORCED) >= FORCED_AT_LEAST);
}

static void test_part_0(void **state) { run_part_of(*state, 0); }
static void test_part_1(void **state) { run_part_of(*state, 1); }
static void test_part_2(void **state) { run_part_of(*state, 2); }
static void test_part_3(void **state) { run_part_of(*state, 3); }

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_part_0, open_state, close_state),
                                     cmocka_unit_test_setup_teardown(test_part_1, open_state, close_state),
                                     cmocka_unit_test_setup_teardown(test_part_2, open_state, close_state),
                                     cmocka_unit_test_setup_teardown(test_part_3, open_state, close_state)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
