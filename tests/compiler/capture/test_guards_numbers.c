/* Guard programs over numbers: expressions and their values, and what a check reads for the graph: sizes,
 * scalars, tensors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "tests/compiler/capture/guard_call.h"

/* --- expressions --- */

static const struct {
  int op;
  const char *text;
  bool unary;
} operators[] = {
    {LUA_OPADD, "+", false},
    {LUA_OPSUB, "-", false},
    {LUA_OPMUL, "*", false},
    {LUA_OPMOD, "%", false},
    {LUA_OPPOW, "^", false},
    {LUA_OPDIV, "/", false},
    {LUA_OPIDIV, "//", false},
    {LUA_OPBAND, "&", false},
    {LUA_OPBOR, "|", false},
    {LUA_OPBXOR, "~", false},
    {LUA_OPSHL, "<<", false},
    {LUA_OPSHR, ">>", false},
    {TC_GUARD_OP_EQ, "==", false},
    {TC_GUARD_OP_LT, "<", false},
    {TC_GUARD_OP_LE, "<=", false},
    {LUA_OPUNM, "-", true},
    {LUA_OPBNOT, "~", true},
#define TC_GUARD_FUNCTION(NAME, name, value) {TC_GUARD_OP_##NAME, "math." #name, true},
#include "guards/functions.def"
#undef TC_GUARD_FUNCTION
    {TC_GUARD_OP_ATAN, "math.atan", false},
    {TC_GUARD_OP_LOG_OF, "math.log", false},
};
static const char *const numbers[] = {"0",
                                      "1",
                                      "-1",
                                      "3",
                                      "-7",
                                      "64",
                                      "math.maxinteger",
                                      "math.mininteger",
                                      "0.0",
                                      "-0.0",
                                      "0.5",
                                      "-2.5",
                                      "3.0",
                                      "1e300",
                                      "2.0^53",
                                      "9007199254740993",
                                      "1/0",
                                      "-1/0",
                                      "0/0",
                                      "2",
                                      "10",
                                      "2.0",
                                      "10.0",
                                      "0.1"};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers, N_OPERATORS = sizeof operators / sizeof *operators };

static bool same_value(lua_State *L, int a, int b) {
  if (lua_type(L, a) != lua_type(L, b) || lua_isinteger(L, a) != lua_isinteger(L, b)) return false;
  if (lua_type(L, a) != LUA_TNUMBER || lua_isinteger(L, a)) return lua_rawequal(L, a, b);
  const lua_Number x = lua_tonumber(L, a), y = lua_tonumber(L, b);
  return (isnan(x) && isnan(y)) || !memcmp(&x, &y, sizeof x);
}

/* What Lua gives for the operation on the call's arguments; false when it raises. */
static bool ask_lua(struct guard_call *c, int which) {
  lua_State *L = c->L;
  if (tc_guards_is_function(operators[which].op))
    lua_pushfstring(L, "local a, b = ... return %s(a%s)", operators[which].text,
                    operators[which].unary ? "" : ", b");
  else if (operators[which].unary)
    lua_pushfstring(L, "local a = ... return %sa", operators[which].text);
  else
    lua_pushfstring(L, "local a, b = ... return a %s b", operators[which].text);
  assert_int_equal(luaL_loadstring(L, lua_tostring(L, -1)), LUA_OK);
  lua_remove(L, -2);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 3);
  return lua_pcall(L, 2, 1, 0) == LUA_OK;
}

/* One expression on arguments: its value is Lua's, and where Lua raises it has none, and the check fails. */
static void check_operator(int which) {
  struct guard_call c;
  guard_open(&c, "return function(a, b) end, 1, 1");
  const int a = tc_guards_arg(c.g, 0, "a"), b = tc_guards_arg(c.g, 1, "b");
  const int expr = tc_guards_expr(c.g, operators[which].op, a, operators[which].unary ? TC_NO_SOURCE : b);
  assert_true(expr >= 0);
  tc_guards_scalar(c.g, a, 0); /* both are numbers */
  tc_guards_scalar(c.g, b, 1);
  const bool may_fail = tc_guards_count(c.g) == 3;
  guard_seal(&c);
  for (int i = 0; i < N_NUMBERS; i++) {
    for (int k = 0; k < N_NUMBERS; k++) {
      guard_set_arg(&c, 0, numbers[i]);
      guard_set_arg(&c, 1, numbers[k]);
      const bool has_value = ask_lua(&c, which);
      assert_true(has_value || may_fail);
      if ((guard_check(&c) == 0) != has_value)
        fail_msg("%s %s %s: the check", numbers[i], operators[which].text, numbers[k]);
      tc_guards_push_source(c.g, &c.frame, expr);
      if (!has_value)
        assert_true(lua_isnil(c.L, -1));
      else if (!same_value(c.L, -1, -2))
        fail_msg("%s %s %s", numbers[i], operators[which].text, numbers[k]);
      lua_settop(c.L, 3);
    }
  }
  guard_close(&c);
}

static void test_operators(void **state) {
  (void)state;
  for (int i = 0; i < N_OPERATORS; i++) check_operator(i);
}

static void test_expressions(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "return function(n, t) end, 4, {scale = 0.5}");
  const int n = tc_guards_arg(c.g, 0, "n"), scale = guard_field(&c, tc_guards_arg(c.g, 1, "t"), "scale");
  const int next = tc_guards_expr(c.g, LUA_OPADD, n, guard_constant(&c, "1"));
  assert_int_equal(next, tc_guards_expr(c.g, LUA_OPADD, n, guard_constant(&c, "1"))); /* kept once */
  assert_int_not_equal(next, tc_guards_expr(c.g, LUA_OPADD, n, guard_constant(&c, "1.0")));
  assert_int_not_equal(guard_constant(&c, "0.0"), guard_constant(&c, "-0.0"));
  const int even =
      tc_guards_expr(c.g, TC_GUARD_OP_EQ, tc_guards_expr(c.g, LUA_OPMOD, next, guard_constant(&c, "2")),
                     guard_constant(&c, "0"));
  const int product =
      tc_guards_expr(c.g, LUA_OPMUL, tc_guards_expr(c.g, LUA_OPUNM, scale, TC_NO_SOURCE), next);
  const int small = tc_guards_expr(c.g, TC_GUARD_OP_LT, product, guard_constant(&c, "-1"));
  guard_assert_text(&c, even, "((n + 1) % 2) == 0");
  guard_assert_text(&c, product, "(-t.scale) * (n + 1)");
  tc_guards_number(c.g, n, true);
  tc_guards_number(c.g, scale, false);
  guard_equal(&c, even, "false");
  guard_equal(&c, small, "true");
  assert_int_equal(tc_guards_count(c.g), 5); /* with t's type: a divisor that is a constant adds nothing */
  guard_seal(&c);
  guard_assert_fails(&c, "");
  guard_set_arg(&c, 0, "6");
  guard_assert_fails(&c, "");
  guard_set_arg(&c, 0, "5");
  guard_assert_fails(&c, "not (((n + 1) % 2) == 0) (now: true)");
  guard_set_arg(&c, 0, "-4");
  guard_assert_fails(&c, "((-t.scale) * (n + 1)) < -1 (now: false)");
  guard_set_arg(&c, 0, "4.0");
  guard_assert_fails(&c, "math.type(n) is integer (now: 4.0)");
  guard_set_arg(&c, 0, "'4'");
  guard_assert_fails(&c, "math.type(n) is integer (now: \"4\")");
  guard_set_arg(&c, 0, "4");
  guard_set_arg(&c, 1, "{scale = 1}");
  guard_assert_fails(&c, "math.type(t.scale) is float (now: 1)");
  guard_set_arg(&c, 1, "{}");
  guard_assert_fails(&c, "math.type(t.scale) is float (now: nil)");
  tc_guards_push_source(c.g, &c.frame, product);
  assert_true(lua_isnil(c.L, -1));
  guard_close(&c);
}

static void test_undefined_expressions(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "return function(n, m) end, 7, 2");
  const int n = tc_guards_arg(c.g, 0, "n"), m = tc_guards_arg(c.g, 1, "m");
  tc_guards_number(c.g, n, true);
  tc_guards_number(c.g, m, true);
  const int quotient = tc_guards_expr(c.g, LUA_OPIDIV, n, m);
  assert_int_equal(tc_guards_count(c.g), 3);
  tc_guards_expr(c.g, LUA_OPBAND, n, m); /* integers have bits */
  assert_int_equal(tc_guards_count(c.g), 3);
  guard_seal(&c);
  guard_assert_fails(&c, "");
  guard_set_arg(&c, 1, "0");
  guard_assert_fails(&c, "n // m has a value (now: nil)");
  tc_guards_push_source(c.g, &c.frame, quotient);
  assert_true(lua_isnil(c.L, -1));
  guard_close(&c);
}

static void test_dynamic_marks(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "return function(n, m) end, 1, 2");
  const int n = tc_guards_arg(c.g, 0, "n"), m = tc_guards_arg(c.g, 1, "m"),
            before = tc_guards_expr(c.g, LUA_OPADD, n, n);
  tc_guards_set_dynamic(c.g, n);
  assert_true(tc_guards_is_dynamic(c.g, n));
  assert_false(tc_guards_is_dynamic(c.g, m));
  assert_false(tc_guards_is_dynamic(c.g, before));
  assert_true(tc_guards_is_dynamic(c.g, tc_guards_expr(c.g, LUA_OPADD, m, n)));
  assert_true(tc_guards_is_dynamic(
      c.g, tc_guards_expr(c.g, LUA_OPUNM, tc_guards_expr(c.g, LUA_OPMUL, n, m), TC_NO_SOURCE)));
  assert_false(tc_guards_is_dynamic(c.g, tc_guards_expr(c.g, LUA_OPADD, m, m)));
  assert_false(tc_guards_is_dynamic(c.g, TC_NO_SOURCE));
  guard_close(&c);
}

/* An expression that doubles itself would have a text of 2^n signs: it ends, and that is no failure. */
static void test_large_expressions(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "return function(n) end, 1");
  int expr = tc_guards_arg(c.g, 0, "n"), doublings = 0, last = expr;
  tc_guards_number(c.g, expr, true);
  while (expr >= 0) {
    last = expr;
    expr = tc_guards_expr(c.g, LUA_OPADD, expr, expr);
    doublings++;
  }
  assert_true(doublings > 4 && doublings < 10);
  tc_guards_number(c.g, last, true);
  guard_seal(&c);
  guard_assert_fails(&c, "");
  tc_guards_push_source(c.g, &c.frame, last);
  assert_int_equal(lua_tointeger(c.L, -1), 1 << (doublings - 1));
  guard_close(&c);
}

/* --- tensors, sizes, scalars --- */

static void test_sizes(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "return function(x, y, n) end, tensor(4, 3), tensor(3, 4), 4");
  const int x = tc_guards_arg(c.g, 0, "x"), y = tc_guards_arg(c.g, 1, "y"), n = tc_guards_arg(c.g, 2, "n");
  struct tc_symtab *tab = tc_symtab_new(tc_alloc_system());
  const tc_sym s0 = tc_sym_size(tab, 0, 4), one = tc_sym_const(1);
  tc_guards_tensor_dynamic(c.g, x, guard_tensor(&c, 2), (int[]){0, -1}, NULL);
  tc_guards_tensor_dynamic(c.g, y, guard_tensor(&c, 3), (int[]){-1, 0}, (tc_sym[]){s0, one});
  tc_guards_size(c.g, n, 0);
  tc_guards_input(c.g, y);
  tc_guards_input(c.g, x);
  tc_guards_shape_fact(c.g, &(struct tc_sym_fact){true, true, s0, tc_sym_const(100)});
  tc_guards_shape_fact(c.g, &(struct tc_sym_fact){true, true, s0, tc_sym_const(100)});
  tc_guards_shape_fact(
      c.g, &(struct tc_sym_fact){false, false, tc_sym_mod(tab, s0, tc_sym_const(7)), tc_sym_const(0)});
  tc_symtab_free(tab); /* the guards have copies */
  guard_seal(&c);
  assert_int_equal(tc_guards_count(c.g), 5);
  guard_assert_fails(&c, "");
  assert_int_equal(c.sizes[0], 4);
  assert_ptr_equal(c.inputs[0], guard_tensor(&c, 3));
  assert_ptr_equal(c.inputs[1], guard_tensor(&c, 2));
  guard_set_arg(&c, 0, "tensor(9, 3)");
  guard_assert_fails(&c, "y is a tensor f32[3, s0] strides [s0, 1] (now: f32[3, 4] strides [4, 1])");
  guard_set_arg(&c, 1, "tensor(3, 9)");
  guard_assert_fails(&c, "n is a size: s0 (now: 4)");
  guard_set_arg(&c, 2, "9");
  guard_assert_fails(&c, "");
  assert_int_equal(c.sizes[0], 9);
  guard_set_arg(&c, 2, "9.0");
  guard_assert_fails(&c, "n is a size: s0 (now: 9.0)");
  guard_set_arg(&c, 2, "9");
  guard_set_arg(&c, 1, "tensor{3, 9, strides = {10, 1}}"); /* known when all sizes are */
  guard_assert_fails(&c, "y is a tensor f32[3, s0] strides [s0, 1] (now: f32[3, 9] strides [10, 1])");
  guard_set_arg(&c, 1, "tensor(3, 9)");
  guard_set_arg(&c, 0, "tensor{9, 3, strides = {4, 1}}");
  guard_assert_fails(&c, "x is a tensor f32[s0, 3] strides [3, 1] (now: f32[9, 3] strides [4, 1])");
  guard_set_arg(&c, 0, "tensor(9, 2)");
  guard_assert_fails(&c, "x is a tensor f32[s0, 3] strides [3, 1] (now: f32[9, 2] strides [2, 1])");
  guard_set_arg(&c, 0, "tensor(1, 3)"); /* 0 and 1 are specialised */
  guard_assert_fails(&c, "x is a tensor f32[s0, 3] strides [3, 1] (now: f32[1, 3] strides [3, 1])");
  guard_set_arg(&c, 0, "tensor(14, 3)");
  guard_set_arg(&c, 1, "tensor(3, 14)");
  guard_set_arg(&c, 2, "14");
  guard_assert_fails(&c, "s0%7 ~= 0 (now: 0 and 0)");
  guard_set_arg(&c, 0, "tensor(101, 3)");
  guard_set_arg(&c, 1, "tensor(3, 101)");
  guard_set_arg(&c, 2, "101");
  guard_assert_fails(&c, "s0 < 100 (now: 101 and 100)");
  guard_close(&c);
}

/* Shape facts whose expressions have no value for some sizes fail there. */
static void test_shape_facts_without_value(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "return function(n, m) end, 8, 6");
  struct tc_symtab *tab = tc_symtab_new(tc_alloc_system());
  const tc_sym n = tc_sym_size(tab, 0, 8), m = tc_sym_size(tab, 1, 6);
  const tc_sym quotient = tc_sym_div(tab, n, tc_sym_sub(tab, m, tc_sym_const(5)));
  tc_guards_size(c.g, tc_guards_arg(c.g, 0, "n"), 0);
  tc_guards_size(c.g, tc_guards_arg(c.g, 1, "m"), 1);
  tc_guards_shape_fact(c.g, &(struct tc_sym_fact){true, false, quotient, tc_sym_const(3)});
  tc_guards_shape_fact(c.g,
                       &(struct tc_sym_fact){true, true, tc_sym_const(0),
                                             tc_sym_mul(tab, tc_sym_mul(tab, n, n), tc_sym_mul(tab, m, m))});
  guard_seal(&c);
  guard_assert_fails(&c, "");
  guard_set_arg(&c, 1, "5");
  guard_assert_fails(&c, "s0//(s1 + -5) >= 3 (now: no value and 3)");
  guard_set_arg(&c, 0, "1 << 40");
  guard_set_arg(&c, 1, "1 << 36");
  assert_int_not_equal(guard_check(&c), 0);
  guard_set_arg(&c, 0, "math.maxinteger");
  guard_assert_fails(&c, "n is a size: s0 (now: 9223372036854775807)");
  guard_set_arg(&c, 0, "1");
  guard_assert_fails(&c, "n is a size: s0 (now: 1)");
  tc_symtab_free(tab);
  guard_close(&c);
}

static void test_scalars(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "return function(t) end, {lr = 0.25, step = 7}");
  const int t = tc_guards_arg(c.g, 0, "t"), lr = guard_field(&c, t, "lr"), step = guard_field(&c, t, "step");
  tc_guards_number(c.g, lr, false);
  tc_guards_number(c.g, step, true);
  tc_guards_scalar(c.g, lr, 0);
  tc_guards_scalar(c.g, step, 1);
  tc_guards_scalar(c.g, tc_guards_expr(c.g, LUA_OPMUL, lr, step), 2);
  tc_guards_scalar(c.g, step, 1);
  assert_int_equal(tc_guards_count(c.g), 6);
  guard_seal(&c);
  guard_assert_fails(&c, "");
  assert_true(c.scalars[0].number == 0.25 && c.scalars[1].integer == 7 && c.scalars[2].number == 1.75);
  guard_set_arg(&c, 0, "{lr = 0.5, step = 8}");
  guard_assert_fails(&c, "");
  assert_true(c.scalars[0].number == 0.5 && c.scalars[1].integer == 8 && c.scalars[2].number == 4);
  guard_set_arg(&c, 0, "{lr = 0.5, step = 8.5}");
  guard_assert_fails(&c, "math.type(t.step) is integer (now: 8.5)");
  /* Callers that want the tensors alone. */
  guard_set_arg(&c, 0, "{lr = 0.5, step = 8}");
  assert_int_equal(tc_guards_match(c.g, &c.frame, &(struct tc_guard_values){.inputs = c.inputs}), 0);
  guard_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_operators),
      cmocka_unit_test(test_expressions),
      cmocka_unit_test(test_undefined_expressions),
      cmocka_unit_test(test_dynamic_marks),
      cmocka_unit_test(test_large_expressions),
      cmocka_unit_test(test_sizes),
      cmocka_unit_test(test_shape_facts_without_value),
      cmocka_unit_test(test_scalars),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
