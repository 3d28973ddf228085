/* Lua's collector under pressure of tensor bytes: dead tensors go soon, living ones stay, also where they
 * have grown old. */
#include "tests/compiler/lua/snippet.h"

enum { TENSOR_BYTES = 4 << 20, FEW = 7 };

static int64_t live_bytes(lua_State *L) { return tc_lua_context(L)->device->bytes_live; }

/* Runs the piece with a fresh peak; returns the most bytes alive at once beyond those before. */
static int64_t peak_growth(lua_State *L, const char *text) {
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCCOLLECT);
  const int64_t before = live_bytes(L);
  tc_lua_context(L)->device->bytes_peak = before;
  run(L, text);
  return tc_lua_context(L)->device->bytes_peak - before;
}

static void test_temporaries_are_freed_promptly(void **state) {
  const int64_t peak =
      peak_growth(*state, "local x = tb.ones(1024, 1024)\nfor _ = 1, 50 do local y = x + 1; y = y * 2 end");
  assert_in_range(peak, 2 * TENSOR_BYTES, FEW * TENSOR_BYTES);
}

static void test_a_carried_value_is_freed_promptly(void **state) {
  const int64_t peak = peak_growth(*state, "local x = tb.ones(1024, 1024)\nfor _ = 1, 50 do x = x + 1 end");
  assert_in_range(peak, 2 * TENSOR_BYTES, FEW * TENSOR_BYTES);
}

static void test_a_chain_of_methods_is_freed_promptly(void **state) {
  /* A method call leaves its object in a stack slot that lives until the next one: such tensors grow old. */
  const int64_t peak = peak_growth(
      *state,
      "local x = tb.ones(1024, 1024)\nfor _ = 1, 100 do local y = x + 1; y = y * 2; y = y:relu() end");
  assert_in_range(peak, 2 * TENSOR_BYTES, FEW * TENSOR_BYTES);
}

static void test_values_that_grew_old_are_freed(void **state) {
  /* Eight tensors live through many collections, then die together, again and again. */
  const int64_t peak = peak_growth(*state, "for _ = 1, 10 do\n"
                                           "  local kept = {}\n"
                                           "  for i = 1, 8 do kept[i] = tb.ones(1024, 1024) end\n"
                                           "  for _ = 1, 8 do local y = kept[1] + kept[8] end\n"
                                           "end");
  assert_in_range(peak, 8 * TENSOR_BYTES, 3 * 8 * TENSOR_BYTES);
}

static void test_living_tensors_keep_their_values(void **state) {
  run(*state,
      "local kept = {}\n"
      "for i = 1, 40 do\n"
      "  local x = tb.full({256, 1024}, i)\n"
      "  if i % 8 == 0 then kept[#kept + 1] = x end\n"
      "end\n"
      "for i, x in ipairs(kept) do assert(x:amin():item() == 8 * i and x:amax():item() == 8 * i) end");
}

static void test_everything_is_given_back(void **state) {
  lua_State *L = *state;
  lua_gc(L, LUA_GCCOLLECT);
  const int64_t before = live_bytes(L);
  run(L, "local parts = tb.ones(8, 4):split(1)\nlocal v, i = parts[1]:max(2)\npcall(tb.matmul, tb.ones(2, "
         "3), tb.ones(4, 5))\n"
         "pcall(tb.tensor, {1.5, 2}, {dtype = 'i64'})\npcall(tb.cat, {tb.ones(2), 7})");
  lua_gc(L, LUA_GCCOLLECT);
  lua_gc(L, LUA_GCCOLLECT);
  assert_int_equal(live_bytes(L), before);
}

static void test_a_stopped_collector_stays_stopped(void **state) {
  lua_State *L = *state;
  run(L, "collectgarbage('stop')");
  const int64_t before = live_bytes(L);
  run(L, "for _ = 1, 8 do tb.ones(1024, 1024) end");
  assert_int_equal(live_bytes(L) - before, 8 * TENSOR_BYTES);
  run(L, "collectgarbage('restart')\ncollectgarbage()");
}

static void test_the_heap_of_lua_does_not_grow(void **state) {
  run(*state, "local a, b = tb.ones(1), tb.ones(1)\n"
              "for _ = 1, 20000 do local c = a + b end\n"
              "local before = collectgarbage('count')\n"
              "for _ = 1, 100000 do local c = a + b end\n"
              "local growth = collectgarbage('count') - before\n"
              "assert(growth < 2048, growth)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_temporaries_are_freed_promptly),
      cmocka_unit_test(test_a_carried_value_is_freed_promptly),
      cmocka_unit_test(test_a_chain_of_methods_is_freed_promptly),
      cmocka_unit_test(test_values_that_grew_old_are_freed),
      cmocka_unit_test(test_living_tensors_keep_their_values),
      cmocka_unit_test(test_everything_is_given_back),
      cmocka_unit_test(test_a_stopped_collector_stays_stopped),
      cmocka_unit_test(test_the_heap_of_lua_does_not_grow),
  };
  return cmocka_run_group_tests(tests, open_state, close_state);
}
