/* Lua runs out of memory at each allocation in turn: every call raises or succeeds, and no storage is
 * lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

#include "tcompile.h"

enum { NEVER = -1, MOST_ALLOCATIONS = 5000 };

struct budget {
  long left; /* allocations until all fail; NEVER */
};

static void *allocate(void *data, void *block, size_t old_bytes, size_t new_bytes) {
  struct budget *budget = data;
  if (new_bytes == 0) {
    free(block);
    return NULL;
  }
  const bool grows = !block || new_bytes > old_bytes;
  if (grows && budget->left == 0) return NULL;
  if (grows && budget->left > 0) budget->left--;
  return realloc(block, new_bytes);
}

static int open_libraries(lua_State *L) {
  luaL_openlibs(L);
  luaL_requiref(L, "tbench", luaopen_tbench, 0);
  lua_setglobal(L, "tb");
  return 0;
}

/* Runs the piece with 0, 1, 2, … allocations allowed until it passes; after each run nothing but what was
 * there is alive. */
static void survive(const char *text) {
  struct budget budget = {NEVER};
  lua_State *L = lua_newstate(allocate, &budget);
  assert_non_null(L);
  lua_pushcfunction(L, open_libraries);
  assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_OK);
  assert_int_equal(luaL_loadstring(L, text), LUA_OK);
  lua_gc(L, LUA_GCCOLLECT);
  const struct tc_device *device = tc_lua_context(L)->device;
  const int64_t before = device->bytes_live;
  int status = LUA_ERRMEM;
  for (long allowed = 0; status != LUA_OK; allowed++) {
    assert_true(allowed < MOST_ALLOCATIONS);
    lua_pushvalue(L, 1);
    budget.left = allowed;
    status = lua_pcall(L, 0, 0, 0);
    budget.left = NEVER;
    if (status != LUA_OK && status != LUA_ERRMEM) {
      const char *message = lua_tostring(L, -1); /* a library that catches the failure words it anew */
      if (!message || !strstr(message, "memory"))
        fail_msg("%s", message ? message : "an error that is no text");
    }
    lua_settop(L, 1);
    lua_gc(L, LUA_GCCOLLECT);
    lua_gc(L, LUA_GCCOLLECT);
    assert_int_equal(device->bytes_live, before);
  }
  lua_close(L);
}

static void test_an_operator(void **state) {
  (void)state;
  survive("local x = tb.ones(3); local y = x + x * 2; return y");
}

static void test_several_results(void **state) {
  (void)state;
  survive("local x = tb.ones(6, 2); local parts, value, index = x:split(1), x:max(1); return parts[1], "
          "value, index");
}

static void test_a_literal(void **state) {
  (void)state;
  survive("return tb.tensor({{1, 2}, {3, 4}}, {dtype = 'bf16', reference_dtype = 'f64'})");
}

static void test_views_and_writes(void **state) {
  (void)state;
  survive("local x = tb.ones(4, 2); x[2]:fill_(3); x:add_(x:t():t()); return x:tolist(), tostring(x)");
}

static void test_an_error_with_shapes(void **state) {
  (void)state;
  survive("local ok, message = pcall(tb.add, tb.ones(2, 3), tb.ones(4, 5)); assert(not ok)");
}

/* Argument 1: light userdata of a tensor whose reference goes to Lua. */
static int push_given(lua_State *L) {
  tc_lua_push_tensor(L, *(struct tc_tensor *)lua_touserdata(L, 1));
  return 1;
}

static void test_a_push_from_c(void **state) {
  (void)state;
  struct budget budget = {NEVER};
  lua_State *L = lua_newstate(allocate, &budget);
  lua_pushcfunction(L, open_libraries);
  assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_OK);
  struct tc_device *device = tc_lua_context(L)->device;
  const int64_t size = 5, before = device->bytes_live;
  int status = LUA_ERRMEM;
  for (long allowed = 0; status != LUA_OK; allowed++) {
    struct tc_tensor x;
    assert_int_equal(tc_tensor_new(device, TC_F32, 1, &size, &x, NULL), TC_OK);
    lua_settop(L, 0);
    lua_pushcfunction(L, push_given);
    lua_pushlightuserdata(L, &x);
    budget.left = allowed;
    status = lua_pcall(L, 1, 1, 0);
    budget.left = NEVER;
    if (status != LUA_OK) assert_int_equal(device->bytes_live, before);
  }
  assert_true(device->bytes_live > before);
  lua_close(L);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_operator),
      cmocka_unit_test(test_several_results),
      cmocka_unit_test(test_a_literal),
      cmocka_unit_test(test_views_and_writes),
      cmocka_unit_test(test_an_error_with_shapes),
      cmocka_unit_test(test_a_push_from_c),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
