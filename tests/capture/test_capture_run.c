/* Differential: the functions of corpus.lua, plain against compiled with backend=eager. */
#include "tests/lua/snippet.h"

#include <stdio.h>
#include <stdlib.h>

static void test_corpus(void **state) {
  lua_State *L = *state;
  const char *root = getenv("TB_SRCDIR");
  char path[1024];
  snprintf(path, sizeof path, "%s/tests/capture/corpus.lua", root ? root : ".");
  if (luaL_loadfile(L, path) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  lua_getglobal(L, "tb");
  if (lua_pcall(L, 1, 2, 0) != LUA_OK) fail_msg("%s", lua_tostring(L, -1));
  if (*lua_tostring(L, -2)) fail_msg("%s", lua_tostring(L, -2));
  assert_true(lua_tointeger(L, -1) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_corpus, open_state, close_state)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
