/* The tensor object of Lua: creation, printing, indexing, operators, views, writes in place, errors. */
#include "tests/compiler/lua/snippet.h"

static void test_literals_take_the_dtype_of_their_elements(void **state) {
  run_gives(*state, "return tb.tensor({{1, 2}, {3, 4}}).dtype", "i64");
  run_gives(*state, "return tb.tensor({1, 2.5}).dtype", "f32");
  run_gives(*state, "return tb.tensor({true, false}).dtype", "bool");
  run_gives(*state, "return tb.tensor({true, 2}).dtype", "i64");
  run_gives(*state, "return tb.tensor(1, {dtype = 'f64'}).dtype", "f64");
  run_gives(*state, "return tb.tensor({}).dtype", "f32");
}

static void test_literals_keep_values_and_shape(void **state) {
  run_gives(*state, "local x = tb.tensor({{1, 2, 3}, {4, 5, 6}}); return table.concat(x.shape, 'x')", "2x3");
  run_gives(*state,
            "local x = tb.tensor({{{1}, {2}}, {{3}, {4}}}):tolist(); return x[1][1][1] .. x[1][2][1] .. "
            "x[2][1][1] .. x[2][2][1]",
            "1234");
  run_gives(*state, "return #tb.tensor(7).shape", "0");
  run_gives(*state, "return tb.tensor(9007199254740993):item()", "9007199254740993");
  run_gives(*state, "return tb.tensor(1.00390625, {dtype = 'bf16'}):item()",
            "1.0"); /* 1 + 2^-8 is a tie: to even */
  run_gives(*state, "return tb.tensor({{}, {}}):size(2)", "0");
}

static void test_a_literal_for_a_reference_is_rounded_then_widened(void **state) {
  run(*state, "local case = {dtype = 'bf16', reference_dtype = 'f64', batch = 8, params = {f = print}}\n"
              "local x = tb.tensor({1.005}, case)\n"
              "assert(x.dtype == 'f64')\n"
              "assert(x:item() == tb.tensor({1.005}, {dtype = 'bf16'}):item())");
}

static void test_bad_literals_say_what_is_wrong(void **state) {
  run_raises(*state, "tb.tensor({{1, 2}, {3}})",
             "test.lua:1: tensor: tables of 2 and of 1 items in dimension 2");
  run_raises(*state, "tb.tensor({1, 'two'})", "tensor: an element that is a string");
  run_raises(*state, "tb.tensor({{1}, 2})", "tensor: a number where dimension 2 has tables of 1 items");
  run_raises(*state, "tb.tensor({1}, {dtype = 'f16'})", "'f16' is no dtype");
  run_raises(*state, "tb.tensor({1.5}, {dtype = 'i64'})", "does not fit into dtype i64");
  run_raises(*state, "tb.tensor({{{{{{{{{1}}}}}}}}})", "nested more than 8 deep");
}

static void test_printing(void **state) {
  run_gives(*state, "return tb.tensor({{1.0, 2.5}, {-3.25, 4.0}})",
            "tensor([[ 1.0000,  2.5000],\n        [-3.2500,  4.0000]], dtype=f32, shape=[2, 2])");
  run_gives(*state, "return tb.tensor({1, 20})", "tensor([ 1, 20], dtype=i64, shape=[2])");
  run_gives(*state, "return tb.tensor({true, false})", "tensor([ true, false], dtype=bool, shape=[2])");
  run_gives(*state, "return tb.tensor({1.0, 2.0, 0/0, 1/0})",
            "tensor([ 1.,  2., nan, inf], dtype=f32, shape=[4])");
  run_gives(*state, "return tb.tensor(2.5)", "tensor(2.5000, dtype=f32, shape=[])");
  run_gives(*state, "return tb.tensor({})", "tensor([], dtype=f32, shape=[0])");
  run_gives(*state, "return tb.tensor({1e-9, 1.0})",
            "tensor([1.0000e-09, 1.0000e+00], dtype=f32, shape=[2])");
  run_gives(*state, "return tb.arange(2000)",
            "tensor([   0,    1,    2, ..., 1997, 1998, 1999], dtype=i64, shape=[2000])");
}

static void test_printing_elides_in_each_dimension(void **state) {
  run(*state, "local lines = 0\n"
              "local text = tostring(tb.zeros(100, 100))\n"
              "for _ in text:gmatch('\\n') do lines = lines + 1 end\n"
              "assert(lines == 6, lines)\n"
              "assert(text:find('...,', 1, true) and text:find('shape=[100, 100]', 1, true))");
}

static void test_indices_count_from_one(void **state) {
  run_gives(*state, "return tb.tensor({10, 20, 30})[1]:item()", "10");
  run_gives(*state, "return tb.tensor({10, 20, 30})[-1]:item()", "30");
  run_gives(*state, "local row = tb.tensor({{1, 2}, {3, 4}})[2]; return #row.shape .. ' ' .. row[1]:item()",
            "1 3");
  run_gives(*state, "return #tb.zeros(5, 2)", "5");
  run_raises(*state, "local x = tb.zeros(3)\nreturn x[0]", "test.lua:2: x[i]: index 0: indices count from 1");
  run_raises(*state, "return tb.zeros(3)[4]", "index 4 is outside of dimension 1 of size 3");
  run_raises(*state, "return tb.zeros(3)[1.5]", "no integer");
  run_raises(*state, "return tb.tensor(1)[1]", "use x:item()");
  run_raises(*state, "tb.zeros(3)[1] = 2", "x[i]:copy_(v)");
}

static void test_properties_and_sizes(void **state) {
  run_gives(*state,
            "local x = tb.zeros(2, 3, 4); return x:size(1) .. x:size(-1) .. x:dim() .. ' ' .. x:numel()",
            "243 24");
  run_gives(*state,
            "local x = tb.zeros(2, 3); return table.concat(x:stride(), ',') .. ' ' .. x:t():stride(1)",
            "3,1 1");
  run_gives(*state, "return table.concat(tb.zeros(2, 3):size(), ',') .. ' ' .. tb.zeros(1).device",
            "2,3 cpu");
  run_gives(*state,
            "local x = tb.zeros(2, 3); return tostring(x:is_contiguous()) .. tostring(x:t():is_contiguous())",
            "truefalse");
  run_raises(*state, "tb.zeros(2, 3):size(0)", "size: dimension 0");
  run_raises(*state, "tb.zeros(2, 3):size(3)", "dimension 3 is outside of a tensor of 2 dimensions");
  run_raises(*state, "return tb.zeros(2).colour", "there is no method or property \"colour\"");
  run_raises(*state, "tb.zeros(2):item()", "item: the tensor has 2 elements");
}

static void test_operators_promote(void **state) {
  run_gives(*state, "return (tb.tensor({1, 2}) + 1).dtype", "i64");
  run_gives(*state, "return (tb.tensor({1, 2}) + 1.5).dtype", "f32");
  run_gives(*state, "return (tb.tensor({1, 2}) / 2).dtype", "f32");
  run_gives(*state, "return (tb.zeros({2}, {dtype = 'bf16'}) * 2.5).dtype", "bf16");
  run_gives(*state, "return (tb.zeros({2}, {dtype = 'bf16'}) * tb.zeros({2}, {dtype = 'f64'})).dtype", "f64");
  run_gives(*state, "return (tb.zeros({2}, {dtype = 'f32'}) * tb.tensor(2.0, {dtype = 'f64'})).dtype", "f32");
}

static void test_operators_compute(void **state) {
  run_gives(
      *state,
      "local x = tb.tensor({6.0}); return (x + 2):item() + (x - 2):item() + (x * 2):item() + (x / 2):item()",
      "27.0");
  run_gives(
      *state,
      "local x = tb.tensor({6.0}); return (2 + x):item() + (2 - x):item() + (2 * x):item() + (12 / x):item()",
      "18.0");
  run_gives(*state,
            "local x = tb.tensor({-7}); return (x // 2):item() .. ' ' .. (x % 3):item() .. ' ' .. "
            "(-x):item() .. ' ' .. (x ^ 2):item()",
            "-4 2 7 49");
  run_gives(*state, "local x = tb.zeros(2); return tostring(x == x) .. tostring(x == tb.zeros(2))",
            "truefalse");
  run_raises(*state, "return tb.zeros(2) < tb.zeros(2)", "compare tensors by x:lt(y)");
}

static void test_functions_take_names_and_lists(void **state) {
  run_gives(*state, "return table.concat(tb.ones(2, 3):sum{dim = -1, keepdim = true}.shape, 'x')", "2x1");
  run_gives(*state, "return table.concat(tb.ones(2, 3):sum(-1, true).shape, 'x')", "2x1");
  run_gives(*state, "return table.concat(tb.ones(2, 3, 4):sum({1, 3}).shape, 'x')", "3");
  run_gives(*state, "return table.concat(tb.ones({6}):view({2, 3}).shape, 'x')", "2x3");
  run_gives(*state, "return table.concat(tb.ones(6):view(2, -1).shape, 'x')", "2x3");
  run_gives(*state,
            "local parts = tb.ones(6):split(4); return #parts .. ' ' .. parts[1]:numel() .. ' ' .. "
            "parts[2]:numel()",
            "2 4 2");
  run_gives(*state,
            "local value, index = tb.tensor({{1, 5, 2}}):max(2); return value:item() .. ' ' .. index:item()",
            "5 2");
  run_gives(*state, "return table.concat(tb.cat({tb.ones(2, 2), tb.zeros(1, 2)}, 1).shape, 'x')", "3x2");
  run_raises(*state, "tb.ones(2, 3):sum{dimension = 1}", "sum: ");
  run_raises(*state, "tb.ones(2, 3):sum{1, keepdim = true}", "mixes named arguments with others");
  run_raises(*state, "tb.add(tb.ones(1), print)", "a function is no argument");
}

static void test_a_case_sets_dtype_and_reference(void **state) {
  run(*state, "local case = {batch = 4, dtype = 'bf16', params = {deep = {1}}, note = print}\n"
              "tb.manual_seed(3)\n"
              "local x = tb.randn({case.batch, 5}, case)\n"
              "assert(x.dtype == 'bf16')\n"
              "case.reference_dtype = 'f64'\n"
              "tb.manual_seed(3)\n"
              "local wide = tb.randn({case.batch, 5}, case)\n"
              "assert(wide.dtype == 'f64')\n"
              "for i = 1, 4 do for j = 1, 5 do assert(wide[i][j]:item() == x[i][j]:item()) end end");
}

static void test_errors_name_the_operation_the_shapes_and_the_line(void **state) {
  run_raises(*state, "local a, b = tb.ones(2, 3), tb.ones(4, 5)\n\nreturn tb.matmul(a, b)",
             "test.lua:3: matmul: [2, 3]");
  run_raises(*state, "local a, b = tb.ones(2, 3), tb.ones(4, 5)\nreturn a + b", "test.lua:2: add: ");
  run_raises(*state, "local function inner(x)\n  return x:view(7)\nend\ninner(tb.ones(6))",
             "test.lua:2: view: ");
  run_raises(*state, "local model = tb.nn.Linear(3, 4)\nlocal x = tb.ones(2, 5)\nmodel(x)",
             "test.lua:3: linear: ");
  run(*state, "local passed, message = pcall(tb.matmul, tb.ones(2, 3), tb.ones(4, 5))\n"
              "assert(not passed and message:find('^test.lua:1: matmul'), message)");
}

static void test_views_share_storage(void **state) {
  run(*state, "local x = tb.zeros(2, 3)\n"
              "local row, flat, turned = x[2], x:view(6), x:t()\n"
              "assert(x:data_ptr() == flat:data_ptr())\n"
              "assert(row:data_ptr() == x:data_ptr() + 3 * 4)\n"
              "row:fill_(7)\n"
              "assert(flat[6]:item() == 7 and turned[3][2]:item() == 7 and flat[1]:item() == 0)\n"
              "assert(x:reshape(3, 2):data_ptr() == x:data_ptr())\n"
              "assert(turned:reshape(6):data_ptr() ~= x:data_ptr())");
}

static void test_writes_in_place_bump_the_version_once(void **state) {
  run(*state, "local x = tb.tensor({1.0, 2.0, 3.0})\n"
              "local view, before = x:view(3, 1), x:version()\n"
              "local same = x:add_(1)\n"
              "assert(same == x and x:version() == before + 1 and view:version() == before + 1)\n"
              "x:sub_(tb.tensor({1.0, 1.0, 1.0})):mul_(4):div_(2)\n"
              "assert(x:version() == before + 4)\n"
              "assert(x[1]:item() == 2 and x[3]:item() == 6)\n"
              "x:add_(x, {alpha = 2})\n"
              "assert(x[2]:item() == 12)\n"
              "x:zero_()\n"
              "assert(x:sum():item() == 0)\n"
              "x:copy_(tb.tensor({5, 6, 7}))\n"
              "assert(x[3]:item() == 7.0 and x.dtype == 'f32')\n"
              "local y = x + 1\n"
              "assert(y:version() == 0 and x:version() == before + 7)");
}

static void test_writes_in_place_read_what_was_there_before(void **state) {
  run(*state, "local x = tb.arange(6, {dtype = 'f32'})\n"
              "x:narrow(1, 2, 5):copy_(x:narrow(1, 1, 5))\n"
              "local list = x:tolist()\n"
              "assert(table.concat(list, ' ') == '0.0 0.0 1.0 2.0 3.0 4.0', table.concat(list, ' '))");
}

static void test_writes_in_place_keep_dtype_and_shape(void **state) {
  run_raises(*state, "tb.tensor({1, 2}):add_(0.5)",
             "add_: a result of dtype f32 cannot be written into a tensor of dtype i64");
  run_raises(*state, "tb.ones(3):add_(tb.ones(2, 3))", "add_: ");
  run_raises(*state, "tb.ones(1):expand(3):fill_(1)", "clone it before writing");
  run_raises(*state, "tb.zeros({2}, {dtype = 'i64'}):fill_(1.5)", "fill_: 1.5 does not fit");
  run_raises(*state, "tb.zeros(2):fill_('x')", "fill_: the value must be a number");
}

static void test_seeds_repeat(void **state) {
  run(*state, "tb.manual_seed(1)\n"
              "local a, b = tb.randn(5), tb.randn(5)\n"
              "tb.manual_seed(1)\n"
              "local c = tb.randn(5)\n"
              "tb.manual_seed(2)\n"
              "local d = tb.randn(5)\n"
              "local function same(x, y) return (x - y):abs():sum():item() == 0 end\n"
              "assert(same(a, c) and not same(a, b) and not same(a, d))");
  run_raises(*state, "tb.manual_seed('x')", "manual_seed: the seed must be an integer");
}

static void test_the_default_dtype_can_be_changed(void **state) {
  run(*state, "assert(tb.get_default_dtype() == 'f32')\n"
              "tb.set_default_dtype('f64')\n"
              "assert(tb.tensor({1.5}).dtype == 'f64' and tb.zeros(1).dtype == 'f64' and (tb.tensor({1}) / "
              "2).dtype == 'f64')\n"
              "tb.set_default_dtype('f32')\n"
              "assert(tb.zeros(1).dtype == 'f32')");
  run_raises(*state, "tb.set_default_dtype('i64')", "set_default_dtype: takes bf16, f32 or f64");
}

static void test_a_function_that_changes_nothing_gives_its_argument_back(void **state) {
  run(*state, "local x = tb.ones(2, 2)\nassert(x:to('f32') == x and x:to('f64') ~= x)");
}

static void test_a_finalized_tensor_is_no_tensor(void **state) {
  run(*state, "local told\n"
              "do\n"
              "  local function finalize(self) told = tb.is_tensor(self.x) and 'alive' or select(2, "
              "pcall(tb.add, self.x, 1)) end\n"
              "  local holder = setmetatable({}, {__gc = finalize})\n"
              "  holder.x = tb.ones(2)\n" /* younger than its holder: finalized before it */
              "end\n"
              "collectgarbage()\n"
              "collectgarbage()\n"
              "assert(told and told:find('is no tensor'), told)");
}

static void test_the_public_calls(void **state) {
  lua_State *L = *state;
  assert_non_null(tc_lua_context(L));
  lua_getglobal(L, "tb");
  assert_null(tc_lua_tensor(L, -1));
  lua_getfield(L, -1, "ones");
  lua_pushinteger(L, 3);
  lua_call(L, 1, 1);
  const struct tc_tensor *x = tc_lua_tensor(L, -1);
  assert_non_null(x);
  assert_int_equal(x->sizes[0], 3);
  tc_lua_push_tensor(L, tc_tensor_share(x));
  assert_int_equal(x->storage->references, 2);
  assert_ptr_equal(tc_lua_tensor(L, -1)->storage, x->storage);
  lua_settop(L, 0);
  struct other {
    void *words[40];
  } *other = lua_newuserdatauv(L, sizeof(struct other), 0);
  memset(other, 0, sizeof *other);
  assert_null(tc_lua_tensor(L, -1));
  lua_settop(L, 0);
}

static void test_a_second_state_has_its_own_context(void **state) {
  void *second = NULL;
  assert_int_equal(open_state(&second), 0);
  run(second, "tb.set_default_dtype('f64')");
  run_gives(*state, "return tb.get_default_dtype()", "f32");
  assert_ptr_not_equal(tc_lua_context(*state), tc_lua_context(second));
  close_state(&second);
  run_gives(*state, "return tb.ones(2):sum():item()", "2.0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_literals_take_the_dtype_of_their_elements),
      cmocka_unit_test(test_literals_keep_values_and_shape),
      cmocka_unit_test(test_a_literal_for_a_reference_is_rounded_then_widened),
      cmocka_unit_test(test_bad_literals_say_what_is_wrong),
      cmocka_unit_test(test_printing),
      cmocka_unit_test(test_printing_elides_in_each_dimension),
      cmocka_unit_test(test_indices_count_from_one),
      cmocka_unit_test(test_properties_and_sizes),
      cmocka_unit_test(test_operators_promote),
      cmocka_unit_test(test_operators_compute),
      cmocka_unit_test(test_functions_take_names_and_lists),
      cmocka_unit_test(test_a_case_sets_dtype_and_reference),
      cmocka_unit_test(test_errors_name_the_operation_the_shapes_and_the_line),
      cmocka_unit_test(test_views_share_storage),
      cmocka_unit_test(test_writes_in_place_bump_the_version_once),
      cmocka_unit_test(test_writes_in_place_read_what_was_there_before),
      cmocka_unit_test(test_writes_in_place_keep_dtype_and_shape),
      cmocka_unit_test(test_seeds_repeat),
      cmocka_unit_test(test_the_default_dtype_can_be_changed),
      cmocka_unit_test(test_a_function_that_changes_nothing_gives_its_argument_back),
      cmocka_unit_test(test_a_finalized_tensor_is_no_tensor),
      cmocka_unit_test(test_the_public_calls),
      cmocka_unit_test(test_a_second_state_has_its_own_context),
  };
  return cmocka_run_group_tests(tests, open_state, close_state);
}
