/* Guard programs by themselves: each kind of fact and what breaks it, the order of checks, texts, and memory.
 * Programs are built here, not by capture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "tests/compiler/capture/guard_call.h"

/* --- every kind of fact, and what breaks it --- */

/* The model is an upvalue of the function, guarded as a whole; then a change makes just this guard fail, and
 * undoing it makes the guards hold again. */
static void check_change(const char *change, const char *expected) {
  static const char chunk[] = "class, other, f = {kind = 'class'}, {}, print\n"
                              "long = ('long'):rep(20)\n"
                              "key = {}\n"
                              "model = setmetatable({w = tensor(2, 3), n = 1, x = 2.5, on = true, name = "
                              "'m', text = long, f = f, list = {10, 20, deep = {leaf = 1}}, [key] = 5,\n"
                              "  [1.5] = 6, [true] = 7, [2147483647] = 1, [2147483648] = 2, [-2147483649] = "
                              "3, [math.mininteger] = 4}, class)\n"
                              "saved = {}\n"
                              "for k, v in next, model do saved[k] = v end\n"
                              "local model = model\n"
                              "return function(a, ...) return model end, tensor(2), 5";
  struct guard_call c;
  guard_open(&c, chunk);
  tc_guards_args(c.g, 2);
  tc_guards_default_dtype(c.g, TC_F32);
  for (int i = 0; i < 3; i++) {
    const int source = tc_guards_arg(c.g, i, i ? NULL : "a"); /* the third is nil: it is not given */
    lua_pushvalue(c.L, i < 2 ? 2 + i : 1);
    if (i == 2) lua_pushnil(c.L), lua_replace(c.L, -2);
    guard_all(&c, source);
  }
  lua_getupvalue(c.L, 1, 1);
  guard_all(&c, tc_guards_upvalue(c.g, tc_guards_function(c.g), 1, "model"));
  guard_seal(&c);
  char *before = fake_guards_text(c.g), *after;
  guard_assert_fails(&c, "");
  guard_run(&c, change);
  guard_assert_fails(&c, expected);
  guard_assert_fails(&c, expected);
  guard_run(&c, "set_default_dtype('f32')");
  guard_run(&c,
            "for k, v in next, saved do model[k] = v end setmetatable(model, class) setmetatable(model.list, "
            "nil) model.list[2] = 20 model.list[3] = nil model.list.deep.leaf = 1");
  guard_assert_fails(&c, "");
  after = fake_guards_text(c.g);
  assert_string_equal(after, before);
  free(before), free(after);
  guard_close(&c);
}

static void test_changes(void **state) {
  (void)state;
  check_change("model.w = tensor(3, 2)",
               "model.w is a tensor f32[2, 3] strides [3, 1] (now: f32[3, 2] strides [2, 1])");
  check_change("model.w = tensor{2, 3, dtype = 'f64'}",
               "model.w is a tensor f32[2, 3] strides [3, 1] (now: f64[2, 3] strides [3, 1])");
  check_change("model.w = tensor{2, 3, strides = {1, 2}}",
               "model.w is a tensor f32[2, 3] strides [3, 1] (now: f32[2, 3] strides [1, 2])");
  check_change("model.w = 5", "model.w is a tensor f32[2, 3] strides [3, 1] (now: 5)");
  check_change("model.w = io.stdout", "model.w is a tensor f32[2, 3] strides [3, 1] (now: a userdata)");
  check_change("model.n = 2", "model.n == 1 (now: 2)");
  check_change("model.n = 1.0", "model.n == 1 (now: 1.0)");
  check_change("model.n = '1'", "model.n == 1 (now: \"1\")");
  check_change("model.x = 2.0", "model.x == 2.5 (now: 2.0)");
  check_change("model.x = 2", "model.x == 2.5 (now: 2)");
  check_change("model.x = 0.1", "model.x == 2.5 (now: 0.1)");
  check_change("model.on = false", "model.on == true (now: false)");
  check_change("model.on = 1", "model.on == true (now: 1)");
  check_change("model.name = 'M'", "model.name == \"m\" (now: \"M\")");
  check_change("model.text = ('long'):rep(19) .. 'lonG'",
               "model.text == \"longlonglonglonglonglonglonglonglonglonglonglonglonglonglong…\" (now: "
               "\"longlonglonglonglonglonglonglonglonglonglonglonglonglonglong…\")");
  check_change("model.text = ('lo'):rep(40, 'ng'):sub(1, 76)",
               "model.text == \"longlonglonglonglonglonglonglonglonglonglonglonglonglonglong…\" (now: "
               "\"longlonglonglonglonglonglonglonglonglonglonglonglonglonglong…\")");
  check_change("model.f = type", "model.f is the same object: a function (now: another function)");
  check_change("model.f = nil model.f = other", "model.f is the same object: a function (now: a table)");
  check_change("model[key] = 6", "model[a table] == 5 (now: 6)");
  check_change("model[1.5] = 7", "model[1.5] == 6 (now: 7)");
  check_change("model[true] = 8", "model[true] == 7 (now: 8)");
  check_change("model[2147483647] = 9", "model[2147483647] == 1 (now: 9)");
  check_change("model[2147483648] = 9", "model[2147483648] == 2 (now: 9)");
  check_change("model[-2147483649] = 9", "model[-2147483649] == 3 (now: 9)");
  check_change("model[math.mininteger] = 9", "model[-9223372036854775808] == 4 (now: 9)");
  check_change("setmetatable(model, nil)", "metatable of model is the same (now: nil)");
  check_change("setmetatable(model, other)", "metatable of model is the same (now: another)");
  check_change("setmetatable(model.list, other)", "metatable of model.list is nil (now: a table)");
}

static void test_more_changes(void **state) {
  (void)state;
  check_change("model.list[2] = 21", "model.list[2] == 20 (now: 21)");
  check_change("model.list.deep.leaf = 2", "model.list.deep.leaf == 1 (now: 2)");
  check_change("model.list[3] = 30", "keys of model.list are 1, 2, \"deep\" (now: 1, 2, 3, \"deep\")");
  check_change("set_default_dtype('f64')", "default dtype is f32 (now: f64)");
}

/* The same long string, made anew, is another object with equal bytes. */
static void test_equal_long_strings(void **state) {
  (void)state;
  check_change("model.text = ('lo'):rep(40, 'ng') .. 'ng' model.text = model.text:sub(1, 80)", "");
}

/* What they demand is kept once, but each is an input of its own, and told by its own name. */
static void test_tensors_alike(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "model = {a = tensor(2, 3), b = tensor(2, 3), c = tensor{2, 3, strides = {1, 2}}, d = "
                 "tensor(2, 3)} return function(m) end, model");
  static const char *const names[] = {"a", "b", "c", "d"};
  enum { COUNT = sizeof names / sizeof *names };
  const int model = tc_guards_arg(c.g, 0, "m");
  for (int i = 0; i < COUNT; i++) {
    lua_getfield(c.L, 2, names[i]);
    const int source = guard_field(&c, model, names[i]);
    tc_guards_tensor(c.g, source, guard_tensor(&c, lua_gettop(c.L)));
    tc_guards_input(c.g, source);
    lua_pop(c.L, 1);
  }
  guard_seal(&c);
  assert_int_equal(guard_check(&c), 0);
  for (int i = 0; i < COUNT; i++) {
    lua_getfield(c.L, 2, names[i]);
    assert_ptr_equal(c.inputs[i], guard_tensor(&c, lua_gettop(c.L)));
    lua_pop(c.L, 1);
  }
  guard_run(&c, "model.b, model.c = model.c, model.b");
  guard_assert_fails(&c, "m.b is a tensor f32[2, 3] strides [3, 1] (now: f32[2, 3] strides [1, 2])");
  guard_run(&c, "model.b = model.c");
  guard_assert_fails(&c, "m.c is a tensor f32[2, 3] strides [1, 2] (now: f32[2, 3] strides [3, 1])");
  guard_close(&c);
}

static void test_arguments(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "return function(a, b) end, 1, 'text'");
  tc_guards_args(c.g, 2);
  guard_equal(&c, tc_guards_arg(c.g, 0, "a"), "1");
  guard_equal(&c, tc_guards_arg(c.g, 1, NULL), "'text'");
  guard_equal(&c, tc_guards_arg(c.g, 2, "c"), "nil");
  tc_guards_metatable(c.g, c.L, tc_guards_arg(c.g, 3, "d"), 0);
  guard_seal(&c);
  guard_assert_fails(&c, "");
  c.frame.n_args = 1;
  guard_assert_fails(&c, "number of arguments is 2 (now: 1)");
  c.frame.n_args = 2;
  guard_set_arg(&c, 1, "'Text'");
  guard_assert_fails(&c, "argument 2 == \"text\" (now: \"Text\")");
  guard_close(&c);
}

static void test_pairs(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "shared = {} t = {a = shared, b = {c = shared}, d = {}} local u = shared return function(x) "
                 "return u end, shared");
  const int x = tc_guards_arg(c.g, 0, "x"), u = tc_guards_upvalue(c.g, tc_guards_function(c.g), 1, "u");
  lua_getglobal(c.L, "t");
  const int t = tc_guards_object(c.g, c.L, lua_gettop(c.L), TC_NO_SOURCE);
  lua_pop(c.L, 1);
  const int a = guard_field(&c, t, "a"), inner = guard_field(&c, guard_field(&c, t, "b"), "c");
  tc_guards_same(c.g, a, x);
  tc_guards_same(c.g, inner, u);
  tc_guards_distinct(c.g, guard_field(&c, t, "d"), inner);
  tc_guards_same(c.g, x, x);
  assert_int_equal(tc_guards_count(c.g), 4); /* with the type of t.b */
  guard_seal(&c);
  guard_assert_fails(&c, "");
  guard_run(&c, "t.a = {}");
  guard_assert_fails(&c, "a table.a is the same object as x (now: not the same)");
  guard_run(&c, "t.a = shared t.d = shared");
  guard_assert_fails(&c, "a table.d is not the same object as a table.b.c (now: the same)");
  guard_run(&c, "t.d = {} t.b = {c = {}}");
  guard_assert_fails(&c, "a table.b.c is the same object as u (now: not the same)");
  guard_run(&c, "t.b = {c = shared}");
  guard_assert_fails(&c, "");
  guard_run(&c, "t.b = nil");
  guard_assert_fails(&c, "type(a table.b) is table (now: nil)");
  guard_close(&c);
}

/* An upvalue of a pinned function, and its insides. */
static void test_upvalues(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "local k = {n = 3} function set(v) k = v end local function h(x) return x * k.n end return "
                 "function(x) return h(x) end, 1");
  const int h = tc_guards_upvalue(c.g, tc_guards_function(c.g), 1, "h");
  lua_getupvalue(c.L, 1, 1);
  tc_guards_identity(c.g, c.L, h, lua_gettop(c.L));
  const int pinned = tc_guards_object(c.g, c.L, lua_gettop(c.L), h);
  lua_pop(c.L, 1);
  const int n = guard_field(&c, tc_guards_upvalue(c.g, pinned, 1, "k"), "n");
  guard_equal(&c, n, "3");
  guard_seal(&c);
  guard_assert_fails(&c, "");
  guard_run(&c, "set({n = 4})");
  guard_assert_fails(&c, "k.n == 3 (now: 4)");
  guard_run(&c, "set(5)");
  guard_assert_fails(&c, "type(k) is table (now: 5)");
  tc_guards_push_source(c.g, &c.frame, n);
  assert_true(lua_isnil(c.L, -1));
  lua_pop(c.L, 1);
  guard_run(&c, "set({n = 3})");
  guard_assert_fails(&c, "");
  lua_pushcfunction(c.L, luaopen_base);
  lua_setupvalue(c.L, 1, 1);
  guard_assert_fails(&c, "h is the same object: a function (now: another function)");
  guard_close(&c);
}

/* --- the order of checks --- */

/* Of two guards that fail, the one that failed more often is met first. */
static void test_failures_come_first(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "t = {p = {a = 1, b = 2}, q = {c = 3, d = 4}} local t = t return function() return t end");
  const int t = tc_guards_upvalue(c.g, tc_guards_function(c.g), 1, "t"), p = guard_field(&c, t, "p"),
            q = guard_field(&c, t, "q");
  guard_equal(&c, guard_field(&c, p, "a"), "1");
  guard_equal(&c, guard_field(&c, p, "b"), "2");
  guard_equal(&c, guard_field(&c, q, "c"), "3");
  guard_equal(&c, guard_field(&c, q, "d"), "4");
  guard_seal(&c);
  guard_run(&c, "t.p.b = 0 t.q.d = 0");
  guard_assert_fails(&c, "t.p.b == 2 (now: 0)");
  guard_run(&c, "t.p.b = 2");
  for (int i = 0; i < 2; i++) guard_assert_fails(&c, "t.q.d == 4 (now: 0)");
  guard_run(&c, "t.p.b = 0");
  guard_assert_fails(&c, "t.q.d == 4 (now: 0)");
  guard_run(&c, "t.q.c = 0");
  guard_assert_fails(&c, "t.q.d == 4 (now: 0)");
  guard_run(&c, "t.q.c = 3 t.q.d = 4 t.p.a = 0");
  guard_assert_fails(&c, "t.p.b == 2 (now: 0)"); /* it failed before, and a did not */
  guard_run(&c, "t.q = nil");
  for (int i = 0; i < 3; i++) assert_int_not_equal(guard_check(&c), 0);
  guard_run(&c, "t.p.a = 1 t.p.b = 2 t.q = {c = 3, d = 4}");
  guard_assert_fails(&c, "");
  guard_close(&c);
}

/* Facts that rest on arguments alone are looked at before tables are. */
static void test_arguments_come_first(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "t = {n = 1} local t = t return function(x, y, n) return t end, {}, 2, 3");
  const int x = tc_guards_arg(c.g, 0, "x"), y = tc_guards_arg(c.g, 1, "y"), n = tc_guards_arg(c.g, 2, "n");
  guard_equal(&c, guard_field(&c, tc_guards_upvalue(c.g, tc_guards_function(c.g), 1, "t"), "n"), "1");
  tc_guards_distinct(c.g, x, y);
  tc_guards_number(c.g, n, true);
  guard_equal(&c, tc_guards_expr(c.g, TC_GUARD_OP_LT, n, guard_constant(&c, "10")), "true");
  guard_seal(&c);
  guard_run(&c, "t.n = 2");
  guard_assert_fails(&c, "t.n == 1 (now: 2)");
  guard_set_arg(&c, 2, "11");
  guard_assert_fails(&c, "n < 10 (now: false)");
  guard_set_arg(&c, 2, "11.0");
  guard_assert_fails(&c, "math.type(n) is integer (now: 11.0)");
  guard_set_arg(&c, 2, "3");
  lua_pushvalue(c.L, 2);
  lua_replace(c.L, 3);
  guard_assert_fails(&c, "x is not the same object as y (now: the same)");
  guard_close(&c);
}

/* A chain of tables longer than any C stack: nothing walks it by recursion, and the text shows its end. */
static void test_a_long_path(void **state) {
  (void)state;
  enum { LENGTH = 150000, LONGEST = 400 };
  struct guard_call c;
  guard_open(&c, "local head last = {n = 1} head = last for i = 1, 150000 do head = {next = head} end return "
                 "function(t) end, head");
  int source = tc_guards_arg(c.g, 0, "t");
  for (int i = 0; i < LENGTH; i++) source = guard_field(&c, source, "next");
  const int n = guard_field(&c, source, "n");
  guard_equal(&c, n, "1");
  guard_seal(&c);
  assert_int_equal(guard_check(&c), 0);
  guard_run(&c, "last.n = 2");
  struct tc_strbuf text;
  tc_strbuf_init(&text, tc_alloc_system());
  tc_guards_explain(c.g, &c.frame, guard_check(&c), &text);
  assert_true(strlen(tc_strbuf_text(&text)) < LONGEST);
  assert_non_null(strstr(text.data, "….next.next"));
  assert_non_null(strstr(text.data, ".next.n == 1 (now: 2)"));
  tc_strbuf_free(&text);
  tc_guards_push_source(c.g, &c.frame, n);
  assert_int_equal(lua_tointeger(c.L, -1), 2);
  guard_close(&c);
}

/* Anchors keep what is compared by address: a collected object's place may be taken by another. */
static void test_collected_objects(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "t = {f = function() return 1 end} local t = t return function() return t end");
  lua_getupvalue(c.L, 1, 1);
  guard_all(&c, tc_guards_upvalue(c.g, tc_guards_function(c.g), 1, "t"));
  guard_seal(&c);
  for (int i = 0; i < 200; i++) {
    guard_run(
        &c,
        "t.f = nil collectgarbage() collectgarbage() local n = 0 t.f = function() n = n + 1 return n end");
    guard_assert_fails(&c, "t.f is the same object: a function (now: another function)");
  }
  guard_close(&c);
}

/* --- memory --- */

struct counting {
  struct tc_alloc alloc;
  size_t live;
  int calls, fail_at;
};

static void *counting_resize(void *self, void *block, size_t old_bytes, size_t new_bytes) {
  struct counting *counting = self;
  if (new_bytes > old_bytes && ++counting->calls == counting->fail_at) return NULL;
  void *moved = new_bytes ? realloc(block, new_bytes) : (free(block), NULL);
  if (new_bytes && !moved) return NULL;
  counting->live += new_bytes - old_bytes;
  return moved;
}

/* Everything there is, with one allocation that fails; true when all went well. */
static bool build_once(lua_State *L, struct counting *counting) {
  struct guard_call c = {.L = L, .frame = {.L = L, .function = 1, .first_arg = 2, .n_args = 2}};
  struct tc_error err;
  tc_status status = tc_guards_new(&counting->alloc, fake_host(), L, &c.g, &err);
  if (!status) {
    struct tc_symtab *tab = tc_symtab_new(tc_alloc_system());
    lua_getupvalue(L, 1, 1);
    guard_all(&c, tc_guards_upvalue(c.g, tc_guards_function(c.g), 1, "t"));
    const int x = tc_guards_arg(c.g, 0, "x"), n = tc_guards_arg(c.g, 1, "n");
    const tc_sym size = tc_sym_size(tab, 0, 4);
    tc_guards_tensor_dynamic(c.g, x, guard_tensor(&c, 2), (int[]){0, -1},
                             (tc_sym[]){tc_sym_mul(tab, size, tc_sym_const(1)), tc_sym_const(1)});
    tc_guards_shape_fact(c.g, &(struct tc_sym_fact){true, true, size, tc_sym_const(9)});
    tc_guards_number(c.g, n, true);
    tc_guards_scalar(c.g, tc_guards_expr(c.g, LUA_OPIDIV, n, guard_constant(&c, "2")), 0);
    tc_guards_distinct(c.g, x, n);
    status = tc_guards_seal(c.g, &err);
    tc_symtab_free(tab);
    if (!status) {
      struct tc_guard_dispatch *dispatch;
      status =
          tc_guards_dispatch_build(&counting->alloc, 2, (struct tc_guards *[]){c.g, c.g}, &dispatch, &err);
      assert_true((status == TC_OK) == (dispatch != NULL));
      tc_guards_dispatch_free(dispatch);
    }
  }
  if (status) assert_int_equal(status, TC_NOMEM);
  tc_guards_free(c.g, L);
  lua_settop(L, 3);
  return !status;
}

static void test_memory(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c, "t = {w = tensor(2), n = 1, list = {1, 2, {3}}, name = 'm'} local t = t return function(x, "
                 "n) return t end, tensor{4, 4, strides = {4, 1}}, 5");
  struct counting counting = {.alloc = {counting_resize, &counting}};
  bool done = false;
  for (int n = 1; !done; n++) {
    counting.calls = 0;
    counting.fail_at = n;
    done = build_once(c.L, &counting);
    assert_true(done == (counting.calls < n));
    assert_int_equal(counting.live, 0);
  }
  guard_close(&c);
}

struct budget {
  lua_Alloc alloc;
  void *data;
  long left;
};

static void *spend(void *data, void *block, size_t old_bytes, size_t new_bytes) {
  struct budget *budget = data;
  const bool grows = new_bytes && (!block || new_bytes > old_bytes);
  if (grows && budget->left == 0) return NULL;
  if (grows) budget->left--;
  return budget->alloc(budget->data, block, old_bytes, new_bytes);
}

/* Argument 1: the call, whose guards the caller frees. */
static int build_protected(lua_State *L) {
  struct guard_call *c = lua_touserdata(L, 1);
  struct tc_error err;
  c->L = L;
  if (tc_guards_new(tc_alloc_system(), fake_host(), L, &c->g, &err))
    return luaL_error(L, "not enough memory");
  lua_getglobal(L, "t");
  guard_all(c, tc_guards_object(c->g, L, 2, TC_NO_SOURCE));
  if (tc_guards_seal(c->g, &err)) return luaL_error(L, "not enough memory");
  return 0;
}

/* Lua runs out of memory at each of its allocations in turn: it raises, or the seal fails; what was made is
 * freed. */
static void test_lua_memory(void **state) {
  (void)state;
  struct guard_call c;
  guard_open(&c,
             "t = {w = tensor(2), n = 1} for i = 1, 40 do t[i] = {i, {}} end return function() return t end");
  tc_guards_free(c.g, c.L);
  struct budget budget = {.left = -1};
  budget.alloc = lua_getallocf(c.L, &budget.data);
  int status = LUA_ERRMEM;
  for (long allowed = 0; status != LUA_OK; allowed++) {
    struct guard_call inner = {.g = NULL};
    lua_pushcfunction(c.L, build_protected);
    lua_pushlightuserdata(c.L, &inner);
    budget.left = allowed;
    lua_setallocf(c.L, spend, &budget);
    status = lua_pcall(c.L, 1, 0, 0);
    lua_setallocf(c.L, budget.alloc, budget.data);
    lua_settop(c.L, 1);
    if (status) assert_true(allowed < 1000);
    tc_guards_free(inner.g, c.L);
  }
  lua_close(c.L);
}

/* Guards that did not get as far as their seal, and those of a state that is closing. */
static void test_unfinished(void **state) {
  (void)state;
  struct guard_call c;
  struct tc_error err;
  guard_open(&c, "return function(x) end, 1");
  guard_equal(&c, TC_NO_SOURCE, "1");
  assert_int_equal(tc_guards_seal(c.g, &err), TC_NOMEM);
  tc_guards_free(c.g, NULL);
  tc_guards_free(NULL, c.L);
  lua_close(c.L);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_changes),
      cmocka_unit_test(test_more_changes),
      cmocka_unit_test(test_equal_long_strings),
      cmocka_unit_test(test_tensors_alike),
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_pairs),
      cmocka_unit_test(test_upvalues),
      cmocka_unit_test(test_failures_come_first),
      cmocka_unit_test(test_arguments_come_first),
      cmocka_unit_test(test_a_long_path),
      cmocka_unit_test(test_collected_objects),
      cmocka_unit_test(test_memory),
      cmocka_unit_test(test_lua_memory),
      cmocka_unit_test(test_unfinished),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
