/* Differential: Lua functions run plain and compiled with backend=eager, where the captured graph is executed
 * by the same kernels. Results, errors and side effects must be equal, bit for bit. */
#include "tests/compiler/lua/snippet.h"

#include <stdio.h>
#include <stdlib.h>

/* Calls the file with tb and the arguments pushed; leaves its two results. */
static void call_file(lua_State *L, const char *name, int n_args) {
  const char *root = getenv("TB_SRCDIR");
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/compiler/capture/%s", root ? root : ".", name);
  if (luaL_loadfile(L, path) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  lua_insert(L, -1 - n_args);
  lua_getglobal(L, "tb");
  lua_insert(L, -1 - n_args);
  if (lua_pcall(L, n_args + 1, 2, 0) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
}

static void test_corpus(void **state) {
  lua_State *L = *state;
  call_file(L, "corpus.lua", 0);
  if (*lua_tostring(L, -2)) fail_msg("%s", lua_tostring(L, -2));
  assert_true(lua_tointeger(L, -1) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_corpus, open_state, close_state)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
