/* The choice among several guard programs of one function: it finds what trying them in order finds, with
 * fewer checks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <string.h>

#include "guards/build.h"
#include "tests/compiler/capture/fake_host.h"

enum { MOST_PROGRAMS = 32, MOST_SIZES = 4 };

struct choice {
  lua_State *L;
  struct tc_frame frame;
  int count;
  struct tc_guards *programs[MOST_PROGRAMS];
  struct tc_guard_dispatch *dispatch;
};

static void open_choice(struct choice *c, const char *chunk) {
  memset(c, 0, sizeof *c);
  c->L = fake_open();
  const int n_args = fake_load(c->L, chunk);
  assert_true(n_args >= 0);
  c->frame = (struct tc_frame){.L = c->L, .function = 1, .first_arg = 2, .n_args = n_args};
}

static void close_choice(struct choice *c) {
  tc_guards_dispatch_free(c->dispatch);
  for (int i = 0; i < c->count; i++) tc_guards_free(c->programs[i], c->L);
  lua_close(c->L);
}

static struct tc_guards *add_program(struct choice *c) {
  struct tc_error err;
  struct tc_guards *g;
  assert_int_equal(tc_guards_new(tc_alloc_system(), fake_host(), c->L, &g, &err), TC_OK);
  return c->programs[c->count++] = g;
}

static void build(struct choice *c) {
  struct tc_error err;
  for (int i = 0; i < c->count; i++) assert_int_equal(tc_guards_seal(c->programs[i], &err), TC_OK);
  assert_int_equal(tc_guards_dispatch_build(tc_alloc_system(), c->count, c->programs, &c->dispatch, &err),
                   TC_OK);
}

static void set_arg(struct choice *c, int number, const char *expression) {
  lua_pushfstring(c->L, "return %s", expression);
  if (luaL_dostring(c->L, lua_tostring(c->L, -1))) fail_msg("%s: %s", expression, lua_tostring(c->L, -1));
  lua_replace(c->L, c->frame.first_arg + number);
  lua_settop(c->L, c->frame.n_args + 1);
}

static int find(struct choice *c, int *tried) {
  int64_t sizes[MOST_SIZES];
  const struct tc_guard_values values = {.sizes = sizes};
  const int top = lua_gettop(c->L), found = tc_guards_dispatch_find(c->dispatch, &c->frame, &values, tried);
  assert_int_equal(lua_gettop(c->L), top);
  if (found >= 0)
    assert_int_equal(tc_guards_match(c->programs[found], &c->frame, &values), 0);
  else
    for (int i = 0; i < c->count; i++)
      assert_int_not_equal(tc_guards_match(c->programs[i], &c->frame, &values), 0);
  return found;
}

static void assert_finds(struct choice *c, int program, int checks) {
  int tried;
  assert_int_equal(find(c, &tried), program);
  assert_int_equal(tried, checks);
}

static void assert_probes(struct choice *c, const char *expected) {
  struct tc_strbuf text;
  tc_strbuf_init(&text, tc_alloc_system());
  tc_guards_dispatch_text(c->dispatch, &text);
  assert_string_equal(tc_strbuf_text(&text) ? text.data : "", expected);
  tc_strbuf_free(&text);
}

static void equal(struct choice *c, struct tc_guards *g, int source, const char *expression) {
  lua_pushfstring(c->L, "return %s", expression);
  if (luaL_dostring(c->L, lua_tostring(c->L, -1))) fail_msg("%s", lua_tostring(c->L, -1));
  const int at = lua_gettop(c->L);
  if (fake_host()->tensor_at(c->L, at))
    tc_guards_tensor(g, source, fake_host()->tensor_at(c->L, at));
  else if (lua_type(c->L, at) < LUA_TTABLE)
    tc_guards_equal(g, c->L, source, at);
  else
    tc_guards_identity(g, c->L, source, at);
  lua_pop(c->L, 2);
}

static int global_field(struct choice *c, struct tc_guards *g, const char *name) {
  lua_pushstring(c->L, name);
  const int source =
      tc_guards_field(g, c->L, tc_guards_upvalue(g, tc_guards_function(g), 1, "_ENV"), lua_gettop(c->L));
  lua_pop(c->L, 1);
  return source;
}

static void test_shapes(void **state) {
  (void)state;
  struct choice c;
  char shape[32];
  open_choice(&c, "k = 1 return function(x, y) return k end, tensor(1, 8), 3");
  for (int i = 1; i <= 10; i++) {
    struct tc_guards *g = add_program(&c);
    snprintf(shape, sizeof shape, "tensor(%d, 8)", i);
    equal(&c, g, global_field(&c, g, "k"), "1");
    equal(&c, g, tc_guards_arg(g, 0, "x"), shape);
    equal(&c, g, tc_guards_arg(g, 1, "y"), "3");
  }
  build(&c);
  assert_probes(&c, "x");
  for (int i = 1; i <= 10; i++) {
    snprintf(shape, sizeof shape, "tensor(%d, 8)", i);
    set_arg(&c, 0, shape);
    assert_finds(&c, i - 1, 1);
  }
  /* Nothing fits: all are tried, since hashes decide nothing. */
  set_arg(&c, 1, "4");
  assert_finds(&c, -1, 10);
  set_arg(&c, 0, "'text'");
  assert_finds(&c, -1, 10);
  close_choice(&c);
}

/* Values of all types, two sources, the number of arguments, and paths that lead nowhere. */
static void test_kinds_of_values(void **state) {
  (void)state;
  static const char *const values[] = {"nil",   "true", "false",     "1",
                                       "1.0",   "-0.0", "'a'",       "('a'):rep(100)",
                                       "print", "t",    "tensor(3)", "tensor{3, dtype = 'f64'}"};
  enum { COUNT = sizeof values / sizeof *values };
  struct choice c;
  open_choice(&c, "t = {} return function(x) return t end, 1");
  for (int i = 0; i < COUNT; i++) {
    struct tc_guards *g = add_program(&c);
    equal(&c, g, tc_guards_arg(g, 0, "x"), values[i]);
  }
  build(&c);
  assert_probes(&c, "x");
  for (int i = 0; i < COUNT; i++) {
    set_arg(&c, 0, values[i]);
    assert_finds(&c, i, 1);
  }
  set_arg(&c, 0, "('a'):rep(99) .. 'b'"); /* of one length and one beginning: the bytes decide */
  assert_finds(&c, -1, COUNT);
  set_arg(&c, 0, "{}");
  assert_finds(&c, -1, COUNT);
  close_choice(&c);
}

static void test_two_probes(void **state) {
  (void)state;
  static const char *const modes[] = {"'train'", "'eval'", "'test'"};
  struct choice c;
  char text[32];
  open_choice(&c, "model = {mode = 'train'} return function(n) return model end, 1");
  for (int i = 0; i < 9; i++) {
    struct tc_guards *g = add_program(&c);
    snprintf(text, sizeof text, "%d", i % 3);
    equal(&c, g, tc_guards_arg(g, 0, "n"), text);
    lua_pushstring(c.L, "mode");
    const int mode = tc_guards_field(g, c.L, global_field(&c, g, "model"), lua_gettop(c.L));
    lua_pop(c.L, 1);
    equal(&c, g, mode, modes[i / 3]);
  }
  build(&c);
  assert_probes(&c, "n, model.mode");
  for (int i = 0; i < 9; i++) {
    lua_pushfstring(c.L, "model.mode = %s", modes[i / 3]);
    assert_int_equal(luaL_dostring(c.L, lua_tostring(c.L, -1)), LUA_OK);
    snprintf(text, sizeof text, "%d", i % 3);
    set_arg(&c, 0, text);
    assert_finds(&c, i, 1);
  }
  assert_int_equal(luaL_dostring(c.L, "model = nil"), LUA_OK);
  assert_finds(&c, -1, 9);
  close_choice(&c);
}

static void test_number_of_arguments(void **state) {
  (void)state;
  struct choice c;
  open_choice(&c, "return function(...) end, 1, 2, 3, 4");
  for (int i = 0; i < 5; i++) tc_guards_args(add_program(&c), i);
  build(&c);
  assert_probes(&c, "number of arguments");
  for (int i = 0; i < 5; i++) {
    c.frame.n_args = i;
    assert_finds(&c, i, 1);
  }
  c.frame.n_args = 4;
  close_choice(&c);
}

/* A program for any size stands beside some for one size: it is tried when these are not it. */
static void test_a_dynamic_program(void **state) {
  (void)state;
  struct choice c;
  open_choice(&c, "return function(x) end, tensor(4, 8)");
  struct tc_guards *dynamic = add_program(&c);
  tc_guards_tensor_dynamic(dynamic, tc_guards_arg(dynamic, 0, "x"), fake_host()->tensor_at(c.L, 2),
                           (int[]){0, -1}, NULL);
  struct tc_guards *one = add_program(&c), *empty = add_program(&c);
  equal(&c, one, tc_guards_arg(one, 0, "x"), "tensor(1, 8)");
  equal(&c, empty, tc_guards_arg(empty, 0, "x"), "tensor(0, 8)");
  build(&c);
  assert_finds(&c, 0, 1);
  set_arg(&c, 0, "tensor(1, 8)");
  assert_finds(&c, 1, 1);
  set_arg(&c, 0, "tensor(0, 8)");
  assert_finds(&c, 2, 1);
  set_arg(&c, 0, "tensor(5, 9)");
  assert_finds(&c, -1, 3);
  close_choice(&c);
}

/* Where nothing tells programs apart, they are tried in order, the one that held last before the others. */
static void test_nothing_to_choose_by(void **state) {
  (void)state;
  struct choice c;
  open_choice(&c, "return function(n) end, 5");
  for (int i = 0; i < 4; i++) {
    struct tc_guards *g = add_program(&c);
    const int n = tc_guards_arg(g, 0, "n");
    tc_guards_number(g, n, true);
    lua_pushinteger(c.L, 10 * (i + 1));
    equal(&c, g, tc_guards_expr(g, TC_GUARD_OP_LT, n, tc_guards_constant(g, c.L, lua_gettop(c.L))), "true");
    lua_pop(c.L, 1);
  }
  build(&c);
  assert_probes(&c, "");
  assert_finds(&c, 0, 1);
  set_arg(&c, 0, "25");
  assert_finds(&c, 2, 3);
  assert_finds(&c, 2, 1);
  set_arg(&c, 0, "45");
  assert_finds(&c, -1, 4);
  close_choice(&c);
}

static void test_one_and_none(void **state) {
  (void)state;
  struct choice c;
  open_choice(&c, "return function(n) end, 5");
  build(&c);
  assert_finds(&c, -1, 0);
  tc_guards_dispatch_free(c.dispatch);
  struct tc_guards *only = add_program(&c);
  equal(&c, only, tc_guards_arg(only, 0, "n"), "5");
  build(&c);
  assert_probes(&c, "");
  assert_finds(&c, 0, 1);
  set_arg(&c, 0, "6");
  assert_finds(&c, -1, 1);
  close_choice(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_kinds_of_values),
      cmocka_unit_test(test_two_probes),
      cmocka_unit_test(test_number_of_arguments),
      cmocka_unit_test(test_a_dynamic_program),
      cmocka_unit_test(test_nothing_to_choose_by),
      cmocka_unit_test(test_one_and_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
