/* Effects and new objects as capture tells them: the text of the replay, the guards that hold apart what must
 * not become one object, and what still breaks. That replays do what they say is shown by
 * tests/compiler/lua/test_lua_effects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "tests/compiler/capture/fake_host.h"

/* Captures what `chunk` returns; the state stays as it was. */
static lua_State *capture(const char *chunk, struct fake_call *call, int *n_args) {
  lua_State *L = fake_open();
  *n_args = fake_load(L, chunk);
  assert_true(*n_args >= 0);
  const int top = lua_gettop(L);
  fake_capture(L, *n_args, call);
  assert_int_equal(lua_gettop(L), top);
  if (call->status) fail_msg("%s: %s", chunk, call->err.message);
  return L;
}

static void check_text(const char *chunk, const char *expected) {
  struct fake_call call;
  struct tc_strbuf text;
  int n_args;
  lua_State *L = capture(chunk, &call, &n_args);
  if (call.capture.broke) fail_msg("%s: break %s", chunk, call.capture.break_.detail);
  tc_strbuf_init(&text, tc_alloc_system());
  fake_recipes(&call, &text);
  assert_string_equal(tc_strbuf_text(&text) ? text.data : "", expected);
  assert_int_equal(fake_check(L, n_args, &call), 0);
  tc_strbuf_free(&text);
  fake_release(L, &call);
  lua_close(L);
}

static void test_writes(void **state) {
  (void)state;
  check_text("local t = {} return function(x) t.last = x:relu() end, tensor(1)", "t.last = output 0");
  check_text("local n = 0 return function(x) n = n + 1 return x end, tensor(1)", "x; n (upvalue) = 1");
  check_text("return function(x) g = x end, tensor(1)", "g = x");
  check_text("return function(t) t[1], t['a b'], t[true] = 1, 2, 3 end, {}",
             "t[true] = 3; t['a b'] = 2; t[1] = 1");
  check_text("return function(t) t.x = 1 t.y = 2 t.x = 3 end, {}", "t.x = 3; t.y = 2");
  check_text("return function(t) t.x = 1 t.x = nil t.x = 2 end, {}", "t.x = 2; t.x = nil; t.x = 2");
  check_text("return function(t) t.x = nil return t.x end, {x = 1}", "nil; t.x = nil");
  check_text("return function(t) t.child.v = 1 end, {child = {}}", "t.child.v = 1");
  check_text("return function(t, v) t.v = v end, {}, 'moved'", "t.v = v");
  check_text("return function(t, u) t.a, u.a = u.a, t.a end, {a = {}}, {a = {}}", "u.a = t.a; t.a = u.a");
  check_text("return function(t) table.insert(t, 1, 0) return #t, table.remove(t) end, {5, 6}",
             "3, t[2]; t[3] = true; t[2] = t[1]; t[1] = 0; t[3] = nil"); /* t[3] held a place */
  check_text("local m = {} return function(t) setmetatable(t, m) end, {}", "metatable of t = m");
  check_text("return function(t) setmetatable(t, nil) end, setmetatable({}, {})", "metatable of t = nil");
  check_text("local n = 0 local function up() n = n + 1 end return function() up() up() return n end",
             "2; n (upvalue) = 2");
}

static void test_objects(void **state) {
  (void)state;
  check_text("return function() local t = {} return t, t end", "new 1 {}, new 1");
  check_text("return function() local t = {} t.t = t return t end", "new 1 {'t' = new 1}");
  check_text("return function() local a, b = {}, {} a[1] = b b[1] = a return a end",
             "new 1 {1 = {1 = new 1}}");
  check_text("return function() return setmetatable({}, {__index = {}}) end", "{} with metatable");
  check_text("return function(t) local a = {} t.a, t.b = a, a end, {}", "t.b = new 2 {}; t.a = new 2");
  check_text("return function(x) return function() return x end end, 3", "function(x)");
  check_text("return function() local n = 1 return function() return n end, function() n = n + 1 end end",
             "function(1), function()");
  check_text("return function() local function f() return f end return f end", "new 1 function(new 1)");
  check_text("local n = 0 return function() return function() return n end end", "function()");
}

static void test_aliases(void **state) {
  (void)state;
  fake_check_guard("return function(a, b) a.x = 1 return b.x end, {}, {}", "local t = {} return t, t",
                   "a is not the same object as b");
  fake_check_guard("return function(a, b) a.x = 1 return b.x end, {}, {}", "return {}, {}", "all hold");
  fake_check_guard("return function(a, b) a.x = 1 return b.y end, {}, {}", "local t = {} return t, t",
                   "all hold"); /* other keys */
  fake_check_guard("return function(a, b) a.x, b.y = 1, 2 end, {}, {}", "local t = {} return t, t",
                   "a is not the same object as b"); /* the order of keys */
  fake_check_guard("return function(a, b) a[1] = 1 return #b end, {}, {}", "local t = {} return t, t",
                   "a is not the same object as b");
  fake_check_guard("return function(a, b) a.x = 1 return (next(b)) end, {}, {}", "local t = {} return t, t",
                   "a is not the same object as b");
  fake_check_guard("return function(a, b) setmetatable(a, nil) return b.x end, {}, {}",
                   "local t = {} return t, t", "a is not the same object as b");
  fake_check_guard("return function(a, n) a.x = n end, {}, 1", "return {}, nil",
                   "type(n) is number"); /* whether a key comes in */
}

static void check_break(const char *chunk, enum tc_break_reason reason, const char *detail) {
  struct fake_call call;
  int n_args;
  lua_State *L = capture(chunk, &call, &n_args);
  if (!call.capture.broke) fail_msg("no break: %s", chunk);
  assert_string_equal(tc_break_name(call.capture.break_.reason), tc_break_name(reason));
  if (!strstr(call.capture.break_.detail, detail))
    fail_msg("'%s' does not say '%s'", call.capture.break_.detail, detail);
  fake_release(L, &call);
  lua_close(L);
}

static void test_breaks(void **state) {
  (void)state;
  check_break("return function(t) t.x = 1 return next(t) end, {y = 1}", TC_BREAK_TABLE_ORDER, "got new keys");
  check_break("return function(t) t[5] = 1 return #t end, {1, 2}", TC_BREAK_TABLE_ORDER, "holes");
  check_break("return function(t) t[1] = nil return #t end, {1, 2}", TC_BREAK_TABLE_ORDER, "holes");
  /* as many keys as the border that Lua tells, and yet holes */
  check_break("local t = {3, 4, 5} t[5] = 0 t[2] = nil return function(t) t[4] = 1 return #t end, t",
              TC_BREAK_TABLE_ORDER, "holes");
  check_break(
      "local t = {3, 4, 5} t[5] = 0 t[2] = nil return function(t) t[4], t[5] = 1, nil return #t end, t",
      TC_BREAK_TABLE_ORDER, "holes");
  check_break("return function(t) setmetatable(t, {__gc = print}) end, {}", TC_BREAK_SIDE_EFFECT, "__gc");
  check_break("return function(t) setmetatable(t, {__mode = 'k'}) end, {}", TC_BREAK_SIDE_EFFECT, "__mode");
  check_break("return function(t) setmetatable(t, nil) end, setmetatable({}, {__metatable = 1})",
              TC_BREAK_RUNTIME_ERROR, "protected");
  check_break("return function(t) t[nil] = 1 end, {}", TC_BREAK_RUNTIME_ERROR, "nil");
  check_break("return function(t) t[0/0] = 1 end, {}", TC_BREAK_RUNTIME_ERROR, "NaN");
  check_break("return function(x) x:add_(1) end, tensor(1)", TC_BREAK_IN_PLACE, "add_");
  check_break("local function two() return 1, 2 end return function() return {x = 1, y = 2, two()} end",
              TC_BREAK_TABLE_ORDER, "open results");
}

static void test_memory(void **state) {
  (void)state;
  lua_State *L = fake_open();
  const int n_args = fake_load(
      L,
      "n = 0 local t = {1, 2} return function(x) n = n + 1 t[#t + 1] = x:relu() local m = {} m.__index = m "
      "t.object = setmetatable({}, m) t.f = function() n = n + 1 return t, m end return t.f, m end, "
      "tensor(4)");
  fake_fail_allocations(L, n_args);
  lua_getglobal(L, "n");
  assert_int_equal(lua_tointeger(L, -1), 0); /* capture writes nothing */
  lua_close(L);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_writes), cmocka_unit_test(test_objects),
                                     cmocka_unit_test(test_aliases), cmocka_unit_test(test_breaks),
                                     cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
