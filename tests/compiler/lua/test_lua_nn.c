/* tb.nn: shapes, values against their definition, initialisation, casts, parameters, modes, text. */
#include "tests/compiler/lua/snippet.h"

static void test_linear_is_its_definition(void **state) {
  run(*state, "local layer = tb.nn.Linear(3, 2)\n"
              "local x = tb.randn(4, 3)\n"
              "local y = layer(x)\n"
              "assert(y:size(1) == 4 and y:size(2) == 2)\n"
              "for i = 1, 4 do for j = 1, 2 do\n"
              "  local sum = layer.bias[j]:item()\n"
              "  for k = 1, 3 do sum = sum + x[i][k]:item() * layer.weight[j][k]:item() end\n"
              "  assert(math.abs(sum - y[i][j]:item()) < 1e-5)\n"
              "end end");
  run(*state, "local layer = tb.nn.Linear(3, 2, false)\nassert(layer.bias == nil and layer(tb.ones(1, "
              "3)):numel() == 2)");
}

static void test_initialisation_is_bounded_and_repeats(void **state) {
  run(*state, "tb.manual_seed(5)\n"
              "local a = tb.nn.Linear(100, 50)\n"
              "tb.manual_seed(5)\n"
              "local b = tb.nn.Linear(100, 50)\n"
              "assert((a.weight - b.weight):abs():amax():item() == 0)\n"
              "assert(a.weight.dtype == 'f32' and a.weight:abs():amax():item() <= 0.1 and "
              "a.weight:abs():amax():item() > 0.09)\n"
              "assert(a.bias:abs():amax():item() <= 0.1 and a.weight:mean():abs():item() < 0.01)");
}

static void test_initial_values_do_not_depend_on_the_default_dtype(void **state) {
  run(*state, "tb.manual_seed(5)\n"
              "local a = tb.nn.Sequential { tb.nn.Linear(7, 5), tb.nn.LayerNorm(5), tb.nn.Embedding(4, 3) }\n"
              "tb.set_default_dtype('f64')\n"
              "tb.manual_seed(5)\n"
              "local b = tb.nn.Sequential { tb.nn.Linear(7, 5), tb.nn.LayerNorm(5), tb.nn.Embedding(4, 3) }\n"
              "tb.set_default_dtype('f32')\n"
              "local p, q = a:parameters(), b:parameters()\n"
              "for i = 1, #p do assert(q[i].dtype == 'f32' and (p[i] - q[i]):abs():sum():item() == 0) end");
}

static void test_a_case_rounds_parameters_then_widens_them(void **state) {
  run(*state, "local function make(case)\n"
              "  tb.manual_seed(1)\n"
              "  return tb.nn.Sequential { tb.nn.Linear(8, 8), tb.nn.ReLU(), tb.nn.Linear(8, 4) }:to(case)\n"
              "end\n"
              "local rounded = make({dtype = 'bf16'}):parameters()\n"
              "local wide = make({dtype = 'bf16', reference_dtype = 'f64'}):parameters()\n"
              "assert(#rounded == 4 and #wide == 4)\n"
              "for i = 1, 4 do\n"
              "  assert(rounded[i].dtype == 'bf16' and wide[i].dtype == 'f64')\n"
              "  assert((rounded[i]:to('f64') - wide[i]):abs():amax():item() == 0)\n"
              "end\n"
              "assert(make('f64'):parameters()[1].dtype == 'f64')");
}

static void test_a_shared_parameter_stays_shared(void **state) {
  run(*state, "local a, b = tb.nn.Linear(2, 2), tb.nn.Linear(2, 2)\n"
              "b.weight = a.weight\n"
              "local model = tb.nn.Sequential { a, b }:to('f64')\n"
              "assert(a.weight == b.weight and a.weight.dtype == 'f64' and #model:parameters() == 3)");
}

static void test_parameters_have_paths_in_a_fixed_order(void **state) {
  run_gives(*state,
            "local model = tb.nn.Sequential { tb.nn.Linear(2, 3), tb.nn.GELU(), tb.nn.LayerNorm(3) }\n"
            "model.extra = { tb.nn.Embedding(2, 2) }\n"
            "local names = {}\n"
            "for name, parameter in model:named_parameters() do names[#names + 1] = name .. ':' .. "
            "parameter:numel() end\n"
            "return table.concat(names, ' ')",
            "1.bias:3 1.weight:6 3.bias:3 3.weight:3 extra.1.weight:4");
}

static void test_activations(void **state) {
  run(*state, "local x, nn = tb.tensor({-1.0, 0.0, 2.0}), tb.nn\n"
              "local function near(y, list) for i = 1, 3 do assert(math.abs(y[i]:item() - list[i]) < 1e-4, "
              "y[i]:item()) end end\n"
              "near(nn.ReLU()(x), {0, 0, 2})\n"
              "near(nn.GELU()(x), {-0.158655, 0, 1.954500})\n"
              "near(nn.GELU('tanh')(x), {-0.158808, 0, 1.954598})\n"
              "near(nn.SiLU()(x), {-0.268941, 0, 1.761594})");
}

static void test_norms(void **state) {
  run(*state, "local x = tb.randn(4, 16) * 3 + 2\n"
              "local y = tb.nn.LayerNorm(16)(x)\n"
              "assert(y:mean(-1):abs():amax():item() < 1e-5)\n"
              "assert((y:var{dim = -1, correction = 0} - 1):abs():amax():item() < 1e-3)\n"
              "local z = tb.nn.RMSNorm(16)(x)\n"
              "assert(((z * z):mean(-1) - 1):abs():amax():item() < 1e-3)\n"
              "assert(tb.nn.LayerNorm({4, 16})(x):mean():abs():item() < 1e-5)\n"
              "assert(#tb.nn.LayerNorm(16, 1e-5, false):parameters() == 0)\n"
              "assert(tostring(tb.nn.RMSNorm(16)) == 'RMSNorm({16}, eps=nil, elementwise_affine=true)')");
}

static void test_embedding_counts_from_one(void **state) {
  run(*state, "local table = tb.nn.Embedding(5, 3)\n"
              "local y = table(tb.tensor({{1, 5}, {2, 2}}))\n"
              "assert(y:size(1) == 2 and y:size(2) == 2 and y:size(3) == 3)\n"
              "assert((y[1][2] - table.weight[5]):abs():sum():item() == 0)");
  run_raises(*state, "tb.nn.Embedding(5, 3)(tb.tensor({0}))", "test.lua:1: embedding: ");
}

static void test_dropout_follows_the_mode(void **state) {
  run(*state, "local model = tb.nn.Sequential { tb.nn.Dropout(0.5) }\n"
              "local x = tb.ones(1000)\n"
              "local kept = model(x):gt(0):sum():item()\n"
              "assert(kept > 350 and kept < 650)\n"
              "assert(model:eval() == model and not model.training and not model[1].training)\n"
              "assert((model(x) - x):abs():sum():item() == 0)\n"
              "assert(model:train()[1].training)");
}

static void test_attention_is_its_definition(void **state) {
  run(*state, "local B, L, E, H = 2, 5, 8, 2\n"
              "local block = tb.nn.MultiheadAttention(E, H)\n"
              "local x = tb.randn(B, L, E)\n"
              "local y = block(x)\n"
              "assert(y:size(1) == B and y:size(2) == L and y:size(3) == E)\n"
              "local qkv = block.in_proj(x)\n"
              "local function head(part, b, h) return qkv[b]:narrow(2, (part - 1) * E + (h - 1) * E // H + "
              "1, E // H) end\n"
              "for b = 1, B do\n"
              "  local heads = {}\n"
              "  for h = 1, H do\n"
              "    local scores = tb.matmul(head(1, b, h), head(2, b, h):t()) / math.sqrt(E // H)\n"
              "    heads[h] = tb.matmul(scores:softmax(-1), head(3, b, h))\n"
              "  end\n"
              "  local expected = block.out_proj(tb.cat(heads, 2))\n"
              "  assert((expected - y[b]):abs():amax():item() < 1e-5)\n"
              "end\n"
              "local causal = block(x, nil, true)\n"
              "assert((causal[1][5] - y[1][5]):abs():amax():item() < 1e-5 and (causal[1][1] - "
              "y[1][1]):abs():amax():item() > 1e-5)");
  run_raises(*state, "tb.nn.MultiheadAttention(8, 3)",
             "test.lua:1: MultiheadAttention: embed_dim 8 is no multiple of num_heads 3");
}

static void test_own_classes(void **state) {
  run(*state, "local Scale = tb.nn.class('Scale')\n"
              "function Scale:init(size) self.weight = tb.full({size}, 2.0) end\n"
              "function Scale:forward(x, offset) return x * self.weight + (offset or 0) end\n"
              "local Shifted = tb.nn.class('Shifted', Scale)\n"
              "function Shifted:forward(x) return Scale.forward(self, x, 1) end\n"
              "assert(Scale(3)(tb.ones(3), 5)[1]:item() == 7)\n"
              "assert(Shifted(3)(tb.ones(3))[1]:item() == 3)\n"
              "assert(tb.nn.is_module(Shifted(1)) and not tb.nn.is_module({}) and not tb.nn.is_module(1))\n"
              "assert(tostring(Shifted(1)) == 'Shifted()')");
  run_raises(*state, "local Empty = tb.nn.class('Empty')\nEmpty()(1)", "the module Empty has no forward");
}

static void test_text(void **state) {
  run_gives(*state,
            "return tb.nn.Sequential { tb.nn.Linear(2, 3), tb.nn.Sequential { tb.nn.ReLU(), "
            "tb.nn.Dropout(0.1) }, tb.nn.LayerNorm(3) }",
            "Sequential(\n"
            "  (1): Linear(in_features=2, out_features=3, bias=true)\n"
            "  (2): Sequential(\n"
            "    (1): ReLU()\n"
            "    (2): Dropout(p=0.1)\n"
            "  )\n"
            "  (3): LayerNorm({3}, eps=1e-05, elementwise_affine=true)\n"
            ")");
}

static void test_a_suite_is_marked(void **state) {
  lua_State *L = *state;
  run(L, "suite = tb.suite { name = 'x' }");
  lua_getglobal(L, "suite");
  assert_true(lua_getmetatable(L, -1));
  luaL_getmetatable(L, "tbench.suite");
  assert_true(lua_rawequal(L, -1, -2));
  lua_settop(L, 0);
  run_raises(L, "tb.suite('mlp')", "suite: takes the table");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_linear_is_its_definition),
      cmocka_unit_test(test_initialisation_is_bounded_and_repeats),
      cmocka_unit_test(test_initial_values_do_not_depend_on_the_default_dtype),
      cmocka_unit_test(test_a_case_rounds_parameters_then_widens_them),
      cmocka_unit_test(test_a_shared_parameter_stays_shared),
      cmocka_unit_test(test_parameters_have_paths_in_a_fixed_order),
      cmocka_unit_test(test_activations),
      cmocka_unit_test(test_norms),
      cmocka_unit_test(test_embedding_counts_from_one),
      cmocka_unit_test(test_dropout_follows_the_mode),
      cmocka_unit_test(test_attention_is_its_definition),
      cmocka_unit_test(test_own_classes),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_a_suite_is_marked),
  };
  return cmocka_run_group_tests(tests, open_state, close_state);
}
