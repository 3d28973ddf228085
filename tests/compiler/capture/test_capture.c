/* Capture of single calls: the graph, the recipes of the results, the guards (that hold, and that fail after
 * each kind of change), and the breaks with their reasons and places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/compiler/capture/fake_host.h"

static void fail_with_break(const char *chunk, const struct fake_call *call) {
  const struct tc_break *b = &call->capture.break_;
  if (call->status)
    fail_msg("%s: %s", chunk, call->err.message);
  else if (call->capture.broke)
    fail_msg("%s: break %s: %s at %s", chunk, tc_break_name(b->reason), b->detail, b->stack);
}

/* Graph (nodes alone, without lines) and recipes. */
static void check_text(const char *chunk, const char *graph, const char *recipes) {
  lua_State *L = fake_open();
  struct fake_call call;
  struct tc_strbuf text;
  const int n_args = fake_load(L, chunk);
  assert_true(n_args >= 0);
  const int top = lua_gettop(L);
  fake_capture(L, n_args, &call);
  assert_int_equal(lua_gettop(L), top);
  fail_with_break(chunk, &call);
  assert_int_equal(tc_graph_verify(call.capture.graph, TC_SPEC_CAPTURED, &call.err), TC_OK);
  for (size_t i = 0; i < call.capture.graph->nodes.len; i++) call.capture.graph->nodes.data[i]->line = 0;
  tc_strbuf_init(&text, tc_alloc_system());
  tc_graph_print(&text, call.capture.graph);
  if (graph) assert_string_equal(tc_strbuf_text(&text), graph);
  tc_strbuf_free(&text);
  tc_strbuf_init(&text, tc_alloc_system());
  fake_recipes(&call, &text);
  if (recipes) assert_string_equal(tc_strbuf_text(&text) ? text.data : "", recipes);
  assert_int_equal(fake_check(L, n_args, &call), 0);
  tc_strbuf_free(&text);
  fake_release(L, &call);
  lua_close(L);
}

/* Only the results: what the traced code computes with numbers, strings and tables. */
static void check_values(const char *body, const char *recipes) {
  struct tc_strbuf chunk;
  tc_strbuf_init(&chunk, tc_alloc_system());
  tc_strbuf_printf(&chunk, "return function(...)\n%s\nend", body);
  check_text(tc_strbuf_text(&chunk), NULL, recipes);
  tc_strbuf_free(&chunk);
}

static void test_operators(void **state) {
  (void)state;
  check_text("return function(x, y) return (x + y) * 2 - 1 / x end, tensor(2, 3), tensor(3)",
             "graph {\n"
             "  v0 = input [0] : f32[2, 3] strides [3, 1]\n"
             "  v1 = input [1] : f32[3] strides [1]\n"
             "  v2 = add v0 v1 : f32[2, 3]\n"
             "  v3 = full [3, 0] (2) : f32[]\n"
             "  v4 = mul v2 v3 : f32[2, 3]\n"
             "  v5 = full [3, 0] (1) : f32[]\n"
             "  v6 = div v5 v0 : f32[2, 3]\n"
             "  v7 = sub v4 v6 : f32[2, 3]\n"
             "  return v7\n"
             "}\n",
             "output 0");
  check_text("return function(x) return -x, x ^ 2, x % 3, 7 // x end, tensor(2)", NULL,
             "output 0, output 1, output 2, output 3");
}

static void test_modules(void **state) {
  (void)state;
  static const char chunk[] = "local Linear = {}\n"
                              "Linear.__index = Linear\n"
                              "function Linear.__call(self, ...) return self:forward(...) end\n"
                              "function Linear:forward(x) return tb.linear(x, self.weight, self.bias) end\n"
                              "local function linear(i, o, b) return setmetatable({weight = tensor(o, i), "
                              "bias = b and tensor(o)}, Linear) end\n"
                              "local layers = {linear(4, 8, true), linear(8, 2)}\n"
                              "return function(x)\n"
                              "  for i, layer in ipairs(layers) do\n"
                              "    x = layer(x)\n"
                              "    if i < #layers then x = x:relu() end\n"
                              "  end\n"
                              "  return x\n"
                              "end, tensor(5, 4)";
  check_text(chunk,
             "graph {\n"
             "  v0 = input [0] : f32[5, 4] strides [4, 1]\n"
             "  v1 = input [1] : f32[8, 4] strides [4, 1]\n"
             "  v2 = input [2] : f32[8] strides [1]\n"
             "  v3 = linear v0 v1 v2 : f32[5, 8]\n"
             "  v4 = relu v3 : f32[5, 8]\n"
             "  v5 = input [3] : f32[2, 8] strides [8, 1]\n"
             "  v6 = linear v4 v5 : f32[5, 2]\n"
             "  return v6\n"
             "}\n",
             "output 0");
}

static void test_results(void **state) {
  (void)state;
  check_text("return function(x) local y = x:relu() return y, y, {y, deep = {y:exp()}}, x end, tensor(2)",
             NULL, "output 0, output 0, {'deep' = {1 = output 1}, 1 = output 0}, x");
  check_text("local kept = {} return function(x, n, s) return n, s, kept, nil, true, 2.5, 'text' end, "
             "tensor(2), 7, 'given'",
             "graph {\n  return\n}\n", "n, s, kept, nil, true, 2.5, 'text'");
  check_text("return function(x) return x:split(2) end, tensor(5)", NULL,
             "{1 = output 0, 2 = output 1, 3 = output 2}");
  check_text("return function(x) return x:max(1) end, tensor(5)", NULL, "output 0, output 1");
  check_text("local meta = {} return function(x) return setmetatable({x = x}, meta) end, tensor(5)", NULL,
             "{'x' = x} with metatable");
  check_text("return function() end", "graph {\n  return\n}\n", "");
}

static void test_same_tensor(void **state) {
  (void)state;
  check_text("local w = tensor(2) local m = {w = w} return function(x) return x + w + m.w end, tensor(2)",
             "graph {\n"
             "  v0 = input [0] : f32[2] strides [1]\n"
             "  v1 = input [1] : f32[2] strides [1]\n"
             "  v2 = add v0 v1 : f32[2]\n"
             "  v3 = add v2 v1 : f32[2]\n"
             "  return v3\n"
             "}\n",
             "output 0");
}

static void test_members(void **state) {
  (void)state;
  check_text("return function(x) local y = x:transpose(1, 2) return x.shape, x.dtype, y:size(1), "
             "y:stride(2), y:is_contiguous(), "
             "y:contiguous():is_contiguous(), x:dim(), x:numel(), #x, x:size(-1) end, tensor(2, 3)",
             NULL, "{1 = 2, 2 = 3}, 'f32', 3, 3, false, true, 2, 6, 2, 3");
  check_text("return function(x) return x:view(-1):stride(), x[1]:size(), x:narrow(2, 1, 2):stride(1) end, "
             "tensor(2, 3)",
             NULL, "{1 = 1}, {1 = 3}, 3");
  check_text("return function(x) return x:is_contiguous() end, tensor{2, 3, strides = {1, 2}}", NULL,
             "false");
  check_text("return function(x) return x[-1] end, tensor(2, 3)",
             "graph {\n"
             "  v0 = input [0] : f32[2, 3] strides [3, 1]\n"
             "  v1 = slice v0 [0, 1, 1, 1] : f32[1, 3]\n"
             "  v2 = squeeze v1 [0] : f32[3]\n"
             "  return v2\n"
             "}\n",
             "output 0");
}

static void test_arguments(void **state) {
  (void)state;
  check_text("return function(x) return x:sum{dim = -1, keepdim = true} end, tensor(2, 3)",
             "graph {\n  v0 = input [0] : f32[2, 3] strides [3, 1]\n  v1 = sum v0 [1, 1] : f32[2, 1]\n  "
             "return v1\n}\n",
             "output 0");
  check_text(
      "local options = {keepdim = true, dim = 1} return function(x) return x:sum(options) end, tensor(2, 3)",
      "graph {\n  v0 = input [0] : f32[2, 3] strides [3, 1]\n  v1 = sum v0 [1, 0] : f32[1, 3]\n  return "
      "v1\n}\n",
      "output 0");
  check_text("return function(x, y) return tb.cat({x, y}, 1), tb.zeros({2, 2}) end, tensor(2), tensor(3)",
             "graph {\n"
             "  v0 = input [0] : f32[2] strides [1]\n"
             "  v1 = input [1] : f32[3] strides [1]\n"
             "  v2 = cat v0 v1 [0] : f32[5]\n"
             "  v3 = full [3, 0, 2, 2] (0) : f32[2, 2]\n"
             "  return v2 v3\n"
             "}\n",
             "output 0, output 1");
  check_text(
      "return function(x) return x:view(x.shape[2], x.shape[1]), tb.randn(2), tb.rand(3) end, tensor(2, 3)",
      NULL, "output 0, output 1, output 2");
}

static void test_numbers(void **state) {
  (void)state;
  check_values("return 7 // 2, -7 // 2, 7 % -3, -7 % 3, 7.5 // 2, -7.5 % 2, 2 ^ 10, 1 / 4, 10 / 2",
               "3, -4, -2, 2, 3, 0.5, 1024, 0.25, 5");
  check_values("return math.maxinteger + 1 == math.mininteger, math.mininteger // -1, math.maxinteger * 2",
               "true, -9223372036854775808, -2");
  check_values("return 5 & 3, 5 | 3, 5 ~ 3, ~0, 1 << 62, 1 << 64, -1 >> 60, 1 << -1, 2.0 | 1",
               "1, 7, 6, -1, 4611686018427387904, 0, 15, 0, 3");
  check_values("return '10' + 5, '0x10' * 2, 10 .. '', 1.5 .. 'x', -'2', 2^53 .. ''",
               "15, 32, '10', '1.5x', -2, '9.007199254741e+15'");
  check_values(
      "return 1 == 1.0, '1' == 1, 1 < 1.5, 'a' < 'b', 2^53 == 2^53 + 1, math.type(1), math.type(1.0)",
      "true, false, true, true, true, 'integer', 'float'");
  check_values("return 3 | 0, 10 // 0.0, -(0/0) ~= 0, 1e308 * 10", "3, inf, true, inf");
}

static void test_loops(void **state) {
  (void)state;
  check_values("local s = '' for i = 1, 3 do s = s .. i end for i = 3, 1, -1 do s = s .. i end return s",
               "'123321'");
  check_values("local n = 0 for x = 0, 1, 0.25 do n = n + x end return n", "2.5");
  check_values("local n = 0 for i = 1, 0 do n = 1 end for i = 1.5, 1 do n = 1 end return n", "0");
  check_values("local n = 0 for i = math.maxinteger - 1, math.maxinteger do n = n + 1 end return n", "2");
  check_values("local n = 0 for i = math.mininteger, math.mininteger + 2, 2 do n = n + 1 end return n", "2");
  check_values("local n = 0 for i = 1, math.huge do n = n + i if i == 4 then break end end return n", "10");
  check_values("local n = 0 for i = 3, -math.huge, -1 do n = n + i if i == 0 then break end end return n",
               "6");
  check_values("local n = 0 for i = 1, 0/0 do n = 1 end for i = 1, -math.huge do n = 1 end for i = 1, "
               "math.huge, -1 do n = 1 end return n",
               "0");
  check_values("local n = 0 for i = 1, 0/0, -1 do n = n + 1 if n == 3 then break end end return n", "3");
  check_values("local n, i = 0, 0 while i < 5 do i = i + 1 if i ~= 3 then n = n + i end end return n", "12");
  check_values("local i = 0 repeat local j = i i = i + 1 until j == 3 return i", "4");
  check_values("local n = 0 do ::top:: n = n + 1 if n < 4 then goto top end end return n", "4");
  check_values("local function range(n) local i = 0 return function() i = i + 1 if i <= n then return i, i * "
               "i end end end\n"
               "local s = 0 for i, q in range(3) do s = s + q end return s",
               "14");
}

static void test_tables(void **state) {
  (void)state;
  check_values("local t = {1, 2, 3, x = 4} t[4] = 5 t.x = nil return #t, t.x, t[4], t[9]", "4, nil, 5, nil");
  check_values("local t = {} for i = 1, 5 do t[#t + 1] = i * i end local s = 0 for _, v in ipairs(t) do s = "
               "s + v end return s, #t",
               "55, 5");
  check_values("local t = {a = 1, b = 2, c = 3} local s, n = 0, 0 for k, v in pairs(t) do s = s + v n = n + "
               "1 end return s, n",
               "6, 3");
  check_values("local t = {10, 20, 30} return next({}), next(t), select('#', table.unpack(t))", "nil, 1, 3");
  check_values("local t = {} t[1.0] = 'a' t[2^53] = 'b' return t[1], t[9007199254740992]", "'a', 'b'");
  check_values("local t = {3, 1} table.insert(t, 9) table.insert(t, 1, 7) local r = table.remove(t, 2) "
               "return table.concat(t, ','), r, table.remove(t)",
               "'7,1,9', 3, 9");
  check_values("local p = table.pack(1, nil, 3) return p.n, p[3], p[2]", "3, 3, nil");
  check_values("local a, b = {}, {} return a == a, a == b, rawequal(a, b), rawlen({1, 2}), type(a), #'abc'",
               "true, false, false, 2, 'table', 3");
}

static void test_functions(void **state) {
  (void)state;
  check_values(
      "local function f(a, ...) local b, c = ... return a, c, select('#', ...) end return f(1, 2, 3, nil)",
      "1, 3, 3");
  check_values("local function f(...) return ... end return (f(1, 2)), f(3, 4)", "1, 3, 4");
  check_values("local function f(n) if n == 0 then return 'end' end return f(n - 1) end return f(500)",
               "'end'");
  check_values(
      "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end return fib(10)",
      "55");
  check_values("local n = 0 local function up() n = n + 1 return n end up() up() return n, up()", "2, 3");
  check_values("local fs = {} for i = 1, 3 do local j = i fs[i] = function() j = j + 1 return i + j end end "
               "return fs[1](), fs[1](), fs[3]()",
               "3, 4, 7");
  check_values("local function outer() local v = 1 return function() v = v * 2 return v end, function() "
               "return v end end\n"
               "local up, get = outer() up() up() return get()",
               "4");
  check_values("local t = setmetatable({}, {__call = function(self, a, b) return a + b end}) return t(3, 4)",
               "7");
  check_values("return (select(-1, 1, 2, 3)), select(2, 'a', 'b', 'c')", "3, 'b', 'c'");
  check_values("return string.format('%d %s', 3, 'x'), ('abc'):upper(), ('x'):rep(3, '-'), math.floor(2.7), "
               "math.max(3, 9, 2), tostring(12), tonumber('0x1F')",
               "'3 x', 'ABC', 'x-x-x', 2, 9, '12', 31");
}

static void test_metatables(void **state) {
  (void)state;
  check_values("local base = {kind = 'base'} base.__index = base\n"
               "local class = setmetatable({name = 'class'}, base) class.__index = class\n"
               "local object = setmetatable({}, class) return object.kind, object.name, object.none",
               "'base', 'class', nil");
  check_values("local v = {} v.__index = v v.__add = function(a, b) return a.n + (type(b) == 'table' and b.n "
               "or b) end\n"
               "v.__eq = function(a, b) return a.n == b.n end v.__lt = function(a, b) return a.n < b.n end "
               "v.__le = function(a, b) return a.n <= b.n end\n"
               "v.__len = function(a) return 42 end v.__concat = function(a, b) return 'joined' end v.__unm "
               "= function(a) return -a.n end\n"
               "local function new(n) return setmetatable({n = n}, v) end\n"
               "return new(1) + new(2), new(1) + 5, new(1) == new(1), new(1) < new(2), new(2) <= new(1), "
               "#new(1), new(1) .. 'x', -new(3)",
               "3, 6, true, true, false, 42, 'joined', -3");
  check_values("local log = {} local t = setmetatable({}, {__newindex = function(t, k, v) rawset(t, k, v * "
               "2) end, __index = function(t, k) return k .. '?' end})\n"
               "t.x = 4 return t.x, t.y, rawget(t, 'y')",
               "8, 'y?', nil");
  check_values("local t = setmetatable({}, {__metatable = 'locked', __pairs = function(t) return function(_, "
               "k) if not k then return 1, 'one' end end, t, nil end})\n"
               "local s for k, v in pairs(t) do s = v end return getmetatable(t), s, "
               "getmetatable('').__index == string",
               "'locked', 'one', true");
}

/* --- guards --- */

static void test_guards_fail(void **state) {
  (void)state;
  static const char with_tensor[] = "return function(x) return x:relu() end, tensor(2, 3)";
  fake_check_guard(with_tensor, "return tensor(2, 4)", "x is a tensor f32[2, 3] strides [3, 1]");
  fake_check_guard(with_tensor, "return tensor(2, 3, 1)", "x is a tensor f32[2, 3] strides [3, 1]");
  fake_check_guard(with_tensor, "return tensor{2, 3, strides = {1, 2}}",
                   "x is a tensor f32[2, 3] strides [3, 1]");
  fake_check_guard(with_tensor, "return tensor{2, 3, dtype = 'f64'}",
                   "x is a tensor f32[2, 3] strides [3, 1]");
  fake_check_guard(with_tensor, "return 3", "x is a tensor f32[2, 3] strides [3, 1]");
  fake_check_guard(with_tensor, "set_default_dtype('f64')", "default dtype is f32");
  fake_check_guard(with_tensor, "return tensor(2, 3)", "all hold");
  fake_check_guard("return function(x, n) return x * n end, tensor(2), 3", "return tensor(2), 4", "n == 3");
  fake_check_guard("return function(x, n) return x * n end, tensor(2), 3", "return tensor(2), 3.0", "n == 3");
  fake_check_guard("return function(x, n) if n then return x end return -x end, tensor(2)",
                   "return tensor(2), 1", "n is nil");
  fake_check_guard("return function(s) return s == 'a' and 1 or 2 end, 'a'", "return 'b'", "s == \"a\"");
  fake_check_guard("return function(...) return select('#', ...) end, 1, 2", "return 1",
                   "number of arguments is 2");
  fake_check_guard("g = 2 return function(x) return x * g end, tensor(2)", "g = 3", "g == 2");
  fake_check_guard("function h(x) return x end return function(x) return h(x) end, tensor(2)",
                   "h = function(x) return -x end", "h is the same object: a function");
  fake_check_guard("t = {v = 1} local t = t return function(x) return x * t.v end, tensor(2)", "t.v = 2",
                   "t.v == 1");
  fake_check_guard("t = {v = 1} local t = t return function(x) return x * t.v end, tensor(2)", "t.v = nil",
                   "t.v == 1");
  fake_check_guard("t = {} local t = t return function(x) return t.v and -x or x end, tensor(2)", "t.v = 1",
                   "t.v is nil");
  fake_check_guard("t = {} local t = t return function(x) return t.v and -x or x end, tensor(2)",
                   "setmetatable(t, {__index = {v = 1}})", "metatable of t is nil");
  fake_check_guard("m = {__index = {v = 1}} t = setmetatable({}, m) local t = t return function(x) return x "
                   "* t.v end, tensor(2)",
                   "m.__index.v = 5", "getmetatable(t).__index.v == 1");
  fake_check_guard("t = {1, 2} local t = t return function(x) return x * #t end, tensor(2)", "t[3] = 3",
                   "#t == 2");
  fake_check_guard("t = {1, 2} local t = t return function(x) for _, v in ipairs(t) do x = x * v end return "
                   "x end, tensor(2)",
                   "t[3] = 3", "t[3] is nil");
  fake_check_guard("t = {a = 1} local t = t return function(x) for k, v in pairs(t) do x = x * v end return "
                   "x end, tensor(2)",
                   "t.b = 3", "keys of t are \"a\"");
  fake_check_guard("t = {w = tensor(3)} local t = t return function(x) return x * t.w end, tensor(3)",
                   "t.w = tensor(1)", "t.w is a tensor f32[3] strides [1]");
  fake_check_guard("t = {w = tensor(3)} local t = t return function(x) return x * t.w end, tensor(3)",
                   "t.w = tensor(3)", "all hold");
  fake_check_guard("w = tensor(3) return function(x) return x * w end, w", "return tensor(3)",
                   "w is the same object as x");
  fake_check_guard("a, b = {}, {} return function() return a == b end", "b = a",
                   "a is not the same object as b");
  fake_check_guard("return function(t) return #t end, {1}", "return 5", "type(t) is table");
  fake_check_guard("return function(t) return type(t) == 'number' end, 1", "return 2", "all hold");
  fake_check_guard("return function(a, b) return a, b end, 1, 2", "return 3, 4",
                   "all hold"); /* they are only handed on */
}

static void test_unused_is_unguarded(void **state) {
  (void)state;
  fake_check_guard("return function(x, n, t) return x:relu() end, tensor(2), 1, {}",
                   "return tensor(2), 'other'", "all hold");
}

static void test_explain(void **state) {
  (void)state;
  lua_State *L = fake_open();
  struct fake_call call;
  struct tc_strbuf text;
  const int n_args = fake_load(L, "return function(x, n) return x * n end, tensor(2), 3");
  fake_capture(L, n_args, &call);
  fail_with_break("explain", &call);
  lua_pushinteger(L, 4);
  lua_replace(L, -2);
  const struct tc_frame frame = {.L = L, .function = 1, .first_arg = 2, .n_args = 2};
  const int guard = fake_check(L, n_args, &call);
  tc_strbuf_init(&text, tc_alloc_system());
  tc_guards_explain(call.capture.guards, &frame, guard, &text);
  assert_string_equal(tc_strbuf_text(&text), "n == 3 (now: 4)");
  tc_strbuf_free(&text);
  assert_int_equal(tc_guards_inputs(call.capture.guards), 1);
  struct fake_call again;
  lua_pushinteger(L, 3);
  lua_replace(L, -2);
  fake_capture(L, n_args, &again);
  char *first = fake_guards_text(call.capture.guards), *second = fake_guards_text(again.capture.guards);
  assert_string_equal(second, first);
  free(first), free(second);
  fake_release(L, &again);
  fake_release(L, &call);
  lua_close(L);
}

/* Inputs come in the order of the graph's. */
static void test_inputs(void **state) {
  (void)state;
  lua_State *L = fake_open();
  struct fake_call call;
  const struct tc_tensor *inputs[2] = {NULL, NULL};
  const int n_args = fake_load(L, "return function(a, b) return b:relu() + a end, tensor(2), tensor(3, 2)");
  fake_capture(L, n_args, &call);
  fail_with_break("inputs", &call);
  const struct tc_frame frame = {.L = L, .function = 1, .first_arg = 2, .n_args = 2};
  assert_int_equal(tc_guards_inputs(call.capture.guards), 2);
  assert_int_equal(tc_guards_match(call.capture.guards, &frame, &(struct tc_guard_values){.inputs = inputs}),
                   0);
  assert_int_equal(inputs[0]->ndim, 2);
  assert_int_equal(inputs[1]->ndim, 1);
  fake_release(L, &call);
  lua_close(L);
}

/* --- breaks --- */

static void check_break(const char *chunk, enum tc_break_reason reason, int line, const char *detail) {
  lua_State *L = fake_open();
  struct fake_call call;
  const int n_args = fake_load(L, chunk);
  assert_true(n_args >= 0);
  fake_capture(L, n_args, &call);
  assert_int_equal(call.status, TC_OK);
  if (!call.capture.broke) fail_msg("no break: %s", chunk);
  const struct tc_break *b = &call.capture.break_;
  assert_string_equal(tc_break_name(b->reason), tc_break_name(reason));
  assert_int_equal(b->line, line);
  assert_string_equal(b->source, "test");
  if (!strstr(b->detail, detail)) fail_msg("'%s' does not say '%s'", b->detail, detail);
  fake_release(L, &call);
  lua_close(L);
}

static void test_breaks(void **state) {
  (void)state;
  check_break("return function(x)\nreturn x:item() end, tensor(1)", TC_BREAK_TENSOR_VALUE, 2, "item");
  check_break("return function(x)\nprint(x) end, tensor(1)", TC_BREAK_TENSOR_VALUE, 2, "print");
  check_break("return function(x)\n\nprint('text') end, tensor(1)", TC_BREAK_SIDE_EFFECT, 3, "print");
  check_break("return function(x) return tostring(x) end, tensor(1)", TC_BREAK_TENSOR_VALUE, 1, "tostring");
  check_break("return function(x) return tb.unknown(x) end, tensor(1)", TC_BREAK_C_FUNCTION, 1, "tb.unknown");
  check_break("return function(x) x:add_(1) end, tensor(1)", TC_BREAK_IN_PLACE, 1, "add_");
  check_break("return function(x) pcall(print) end, tensor(1)", TC_BREAK_SIDE_EFFECT, 1, "print");
  check_break("return function(x) pcall(function() error('no', 4) end) end, tensor(1)",
              TC_BREAK_PROTECTED_CALL, 1, "level 4");
  check_break("return function(x) error('no') end, tensor(1)", TC_BREAK_RUNTIME_ERROR, 1, "error");
  check_break("return function(x) coroutine.yield(x) end, tensor(1)", TC_BREAK_COROUTINE, 1, "yield");
  check_break("return function(x) local c <close> = setmetatable({}, {}) end, tensor(1)",
              TC_BREAK_TO_BE_CLOSED, 1, "close");
  check_break("return function(x) return x + tensor end, tensor(1)", TC_BREAK_RUNTIME_ERROR, 1, "");
  check_break("return function(x, y) return x + y end, tensor(2), tensor(3)", TC_BREAK_RUNTIME_ERROR, 1,
              "add");
  check_break("return function(x) local y return y.z end, tensor(2)", TC_BREAK_RUNTIME_ERROR, 1, "field z");
  check_break("return function(x) return x < x end, tensor(2)", TC_BREAK_RUNTIME_ERROR, 1, "comparison");
  check_break("return function(x) return 1 // 0 end, tensor(2)", TC_BREAK_RUNTIME_ERROR, 1, "zero");
  check_break("return function(x) return 1.5 | 1 end, tensor(2)", TC_BREAK_RUNTIME_ERROR, 1, "");
  check_break("return function(x) return '1' | 1 end, tensor(2)", TC_BREAK_RUNTIME_ERROR, 1, "");
  check_break("return function(x) for i = 1, 10, 0 do end end, tensor(2)", TC_BREAK_RUNTIME_ERROR, 1, "step");
  check_break("return function(x) for i = 1, 1e9 do end end, tensor(2)", TC_BREAK_LOOP_LENGTH, 1, "turns");
  check_break("return function(x) for i = 1, 140000 do x = x + 1 end return x end, tensor(2)",
              TC_BREAK_GRAPH_SIZE, 1, "131072");
  check_break("local function f(x)\nreturn 1 + f(x) end return f, tensor(2)", TC_BREAK_INLINE_DEPTH, 2, "64");
  check_break("return function(x) return setmetatable({}, {__gc = print}) end, tensor(2)",
              TC_BREAK_SIDE_EFFECT, 1, "__gc");
  check_break("return function(x) return io.stdout.x end, tensor(2)", TC_BREAK_UNSUPPORTED_VALUE, 1,
              "userdata");
  check_break("return function(x) return x.nothing end, tensor(2)", TC_BREAK_METAMETHOD, 1, "nothing");
  check_break("return function(x) return os.time() end, tensor(2)", TC_BREAK_C_FUNCTION, 1, "os.time");
  check_break("return function(x) return math.random() end, tensor(2)", TC_BREAK_C_FUNCTION, 1,
              "math.random");
  check_break("return function(x) assert(false) end, tensor(2)", TC_BREAK_RUNTIME_ERROR, 1, "assert");
  check_break("return function(x) local t = {1, 2, nil, 4} return #t end, tensor(2)", TC_BREAK_TABLE_ORDER, 1,
              "holes");
}

static void test_stack(void **state) {
  (void)state;
  lua_State *L = fake_open();
  struct fake_call call;
  const int n_args = fake_load(L, "local m = {}\nfunction m.inner(x) return x:item() end\nlocal function "
                                  "outer(x)\n return 1 + m.inner(x)\nend\n"
                                  "return function(x)\n local y = outer(x)\n return y\nend, tensor(1)");
  fake_capture(L, n_args, &call);
  assert_true(call.capture.broke);
  assert_string_equal(
      call.capture.break_.stack,
      "test:2 in function 'm.inner'; test:4 in function 'outer'; test:7 in function 'the function'");
  assert_int_equal(call.capture.break_.line, 2);
  fake_release(L, &call);
  lua_close(L);
}

static void test_memory(void **state) {
  (void)state;
  lua_State *L = fake_open();
  const int n_args = fake_load(L, "local m = {w = tensor(4, 4), list = {1, 2}}\n"
                                  "return function(x) for i, v in ipairs(m.list) do x = (x * v):matmul(m.w) "
                                  "end return {y = x, s = 'a' .. #m.list} end, tensor(4, 4)");
  fake_fail_allocations(L, n_args);
  lua_close(L);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_operators),
                                     cmocka_unit_test(test_modules),
                                     cmocka_unit_test(test_results),
                                     cmocka_unit_test(test_same_tensor),
                                     cmocka_unit_test(test_members),
                                     cmocka_unit_test(test_arguments),
                                     cmocka_unit_test(test_numbers),
                                     cmocka_unit_test(test_loops),
                                     cmocka_unit_test(test_tables),
                                     cmocka_unit_test(test_functions),
                                     cmocka_unit_test(test_metatables),
                                     cmocka_unit_test(test_guards_fail),
                                     cmocka_unit_test(test_unused_is_unguarded),
                                     cmocka_unit_test(test_explain),
                                     cmocka_unit_test(test_inputs),
                                     cmocka_unit_test(test_breaks),
                                     cmocka_unit_test(test_stack),
                                     cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
