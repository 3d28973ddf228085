-- The debug folder (switch debug=DIR): its programs run, and compute what the captured graph computes. Run by test_lua_debug.c with the
-- name of a part.
local part = ...
local tb = require "tbench"
local F = tb.nn.functional
local parts = {}

local function with_folder(body)
  local folder = os.tmpname()
  os.remove(folder)
  local good, why = pcall(body, folder)
  os.execute("rm -rf '" .. folder .. "'")
  if not good then error(why, 0) end
end

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

-- What a program of a folder prints, its graph, and what makes its inputs.
local function load_program(path)
  local printed = {}
  local env = setmetatable({ print = function(text) printed[#printed + 1] = text end }, { __index = _G })
  local graph, inputs = assert(loadfile(path, "t", env))()
  return table.concat(printed, "\n"), graph, inputs
end

local function is_tensor_equal(a, b)
  if a.dtype ~= b.dtype or table.concat(a.shape, ",") ~= table.concat(b.shape, ",") then return false end
  for _, size in ipairs(a.shape) do if size == 0 then return true end end
  local same = tb.logical_or(a:eq(b), tb.logical_and(a:ne(a), b:ne(b)))
  return same:all():item()
end

local function check_equal(name, got, want)
  assert(got.n == want.n, ("%s: %d results, expected %d"):format(name, got.n, want.n))
  for i = 1, want.n do assert(is_tensor_equal(got[i], want[i]), ("%s: result %d is another: %s %s and %s %s"):format(name, i, got[i].dtype, got[i], want[i].dtype, want[i])) end
end

-- f takes tensors, in the order in which it uses them, and has no break: the program's graph does what f does, on the arguments of the
-- call and on the inputs that the program makes.
local function check(name, f, ...)
  local args = table.pack(...)
  with_folder(function(folder)
    tb.manual_seed(3)
    tb.compile(f, { backend = "eager", options = { debug = folder } })(table.unpack(args))
    local printed, graph, inputs = load_program(folder .. "/0001/graph_runnable.lua")
    assert(printed:find "^result 1: ", name .. ": " .. printed)
    tb.manual_seed(4)
    local want = table.pack(f(table.unpack(args)))
    tb.manual_seed(4)
    check_equal(name, table.pack(graph(table.unpack(args))), want)
    local made = inputs()
    assert(#made == args.n, ("%s: %d inputs, expected %d"):format(name, #made, args.n))
    for i = 1, #made do
      assert(made[i].dtype == args[i].dtype and table.concat(made[i].shape, ",") == table.concat(args[i].shape, ","), name .. ": an input has another shape")
    end
    tb.manual_seed(4)
    want = table.pack(f(table.unpack(made)))
    tb.manual_seed(4)
    check_equal(name, table.pack(graph(table.unpack(made))), want)
    assert(not read(folder .. "/0001/graph_readable.lua"):find("require", 1, true))
  end)
end

local x, y = tb.randn(6, 8), tb.randn(6, 8)
local whole = tb.arange(48):to("i64"):view(6, 8)
local truth = x:gt(0)

function parts.operations()
  local unary = { "neg", "abs", "sign", "floor", "ceil", "reciprocal", "exp", "sin", "cos", "tan", "tanh", "sigmoid", "erf", "relu", "gelu", "silu", "softplus",
    "isnan", "isinf", "logical_not", "square", "clone" }
  for _, name in ipairs(unary) do check(name, function(a) return tb[name](a) end, x) end
  for _, name in ipairs { "sqrt", "rsqrt", "log", "log1p" } do check(name, function(a) return tb[name](a) end, x:abs() + 0.5) end
  local binary = { "add", "sub", "mul", "div", "floor_divide", "remainder", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or",
    "logical_xor" }
  for _, name in ipairs(binary) do check(name, function(a, b) return tb[name](a, b) end, x, y) end
  check("pow", function(a, b) return a:pow(b) + a:pow(2.5) end, x:abs(), y)
  check("integers", function(a, b) return a + b, a * 3, a:floor_divide(b), a:remainder(7), a / b end, whole, whole + 1)
  check("choices", function(c, a, b) return tb.where(c, a, b), a:masked_fill(c, 1 / 0), a:clamp(-0.5, 0.5) end, truth, x, y)
  check("constants", function(a) return a * 0.1, a + 1e300, a * (0 / 0), a - math.huge, tb.full({ 2 }, 7), tb.full({ 2 }, true) end, x)
  check("casts", function(a) return a:to("bf16"), a:to("f64"), a:to("i64"), a:to("bool"), a:bfloat16():float() end, x)
  check("gelu", function(a) return F.gelu(a, "tanh"), F.softplus(a, 2, 3) end, x)
end

function parts.reductions()
  for _, name in ipairs { "sum", "prod", "amax", "amin", "any", "all", "mean", "var", "std" } do
    check(name, function(a) return tb[name](a), tb[name](a, 1), tb[name](a, -1, true), tb[name](a, { 1, 2 }) end, x)
  end
  check("scalars", function(a) return a:sum():sum(), a:sum():amax() end, x)
  check("var", function(a) return a:var(2, false, 0), a:var(nil, false, 3) end, x)
  check("argmax", function(a) return a:argmax(), a:argmax(1), a:argmin(2, true), a:max(2) end, x)
  check("softmax", function(a) return a:softmax(-1), a:log_softmax(1), a:logsumexp(2, true), a:logsumexp({ 1, 2 }) end, x)
end

function parts.shapes()
  check("views", function(a) return a:view(8, 6), a:reshape(-1), a:t(), a:unsqueeze(2):squeeze(2), a:view(1, 6, 1, 8):squeeze(), a:unflatten(2, { 2, 4 }) end, x)
  check("slices", function(a) return a:narrow(1, 2, 3), a:slice(2, 2, 7, 2), a:slice(2, 8, 1), a:select(1, 3), (a:slice(1, 1, 5, 3)) end, x)
  check("copies", function(a, b) return a:flip(1, 2), F.pad(a, { 1, 2, 0, 3 }, "constant", 0.5), tb.cat({ a, b, a }, 2), tb.stack({ a, b }), a:tril(), b:triu(-2) end, x, y)
  check("expand", function(a) return a:narrow(1, 1, 1):expand(5, 8), a:unsqueeze(1):expand(3, 6, 8):contiguous() end, x)
  check("made", function(a) return a + tb.arange(8), tb.arange(2, 20, 3), tb.arange(0, 1, 0.125) + a, tb.rand(3, 2), tb.randn({ 6, 8 }) + a, tb.zeros(0, 3) end, x)
  check("strided", function(a, b, c) return a + 1, b * 2, c - 1 end, x:t(), tb.randn(4, 6, 10):narrow(3, 2, 5):permute(3, 1, 2), tb.randn(1, 30):expand(20, 30))
end

function parts.indices()
  local table_ = tb.randn(30, 40)
  check("embedding", function(index, weight) return F.embedding(index, weight) end, tb.tensor({ { 1, 30 }, { 4, 5 } }), table_)
  check("gather", function(a, index) return a:gather(2, index), a:index_select(1, index:select(1, 1)) end, table_, tb.tensor({ { 1, 3 }, { 2, 30 } }))
  local many = (tb.rand(100, 100) * 30):floor():to("i64") + 1
  check("many indices", function(index, weight) return F.embedding(index, weight) end, many, table_)
end

function parts.models()
  local w1, b1, w2, b2 = tb.randn(16, 8), tb.randn(16), tb.randn(4, 16), tb.randn(4)
  check("mlp", function(a, w, b, v, c) return F.linear(F.linear(a, w, b):relu(), v, c) end, x, w1, b1, w2, b2)
  check("linear", function(a, w) return F.linear(a, w):matmul(w) end, x, w1)
  check("softmax", function(a) local e = (a - a:amax(-1, true)):exp() return e / e:sum(-1, true) end, x)
  local q, k, v = tb.randn(2, 3, 5, 8), tb.randn(2, 3, 7, 8), tb.randn(2, 3, 7, 4)
  check("attention", function(a, b, c) return F.scaled_dot_product_attention(a, b, c) end, q, k, v)
  check("causal", function(a, b, c) return F.scaled_dot_product_attention(a, b, c, nil, 0, true, 0.3) end, q, k, v)
  check("masked", function(a, b, c, m) return F.scaled_dot_product_attention(a, b, c, m) end, q, k, v, tb.randn(5, 7))
  check("norms", function(a, w, b) return F.layer_norm(a, { 8 }, w, b), F.layer_norm(a, { 6, 8 }), F.layer_norm(a, { 8 }, nil, b), F.rms_norm(a, { 8 }, w, 0.1) end, x,
    tb.randn(8), tb.randn(8))
  check("dropout", function(a) return F.dropout(a, 0.3) end, x)
end

-- Pieces behind breaks have folders of their own, in the order in which they were compiled; together they are the function.
function parts.pieces()
  local seen = {}
  local note = coroutine.wrap(function(value) while true do seen[#seen + 1] = value value = coroutine.yield() end end)
  local function f(a)
    local b = a * 2 + 1
    note(1)
    local c = b:relu()
    note(2)
    return c - c:mean()
  end
  with_folder(function(folder)
    local compiled = tb.compile(f, { options = { debug = folder } })
    local got = compiled(x)
    assert(tb.stats(compiled).graphs == 3 and #seen == 2)
    local value = x
    for i = 1, 3 do
      local _, graph = load_program(("%s/%04d/graph_runnable.lua"):format(folder, i))
      value = graph(value)
    end
    assert(is_tensor_equal(value, f(x)) and (value - got):abs():max():item() < 1e-5)
    for _, name in ipairs { "ir_pre_fusion.txt", "ir_post_fusion.txt", "kernels.ll", "kernels.s", "guards.txt", "timing.json" } do
      assert(#read(folder .. "/0002/" .. name) > 0, name .. " is empty")
    end
    assert(read(folder .. "/0001/guards.txt"):find("a is a tensor f32[6, 8]", 1, true))
    assert(read(folder .. "/0001/ir_pre_fusion.txt"):find("graph {.*loops {"))
    assert(read(folder .. "/0001/kernels.ll"):find("define", 1, true) and read(folder .. "/0001/kernels.s"):find(".text", 1, true))
    assert(read(folder .. "/0001/timing.json"):find('"codegen"', 1, true))
    assert(read(folder .. "/0001/timing.json"):find('"stages": %[{"stage": "decompose", "began_ns": 0, "took_ns": %d+, "bytes": %d+}, {"stage": "key"'))
  end)
end

-- What a cache had is told too, and a changing size is one of the program's.
function parts.again()
  local function f(a) return (a:reshape(-1) * 3):sum(), a:expand(2, a:size(1), 8) end
  with_folder(function(folder)
    for i = 1, 2 do
      local compiled = tb.compile(f, { dynamic = true, options = { debug = folder } })
      compiled(x)
      local _, graph = load_program(("%s/%04d/graph_runnable.lua"):format(folder, i))
      for rows = 3, 5 do
        local other = tb.randn(rows, 8)
        check_equal("dynamic", table.pack(graph(other)), table.pack(f(other)))
      end
      assert(#read(("%s/%04d/kernels.ll"):format(folder, i)) > 0)
      assert(read(("%s/%04d/guards.txt"):format(folder, i)):find("left open: a:size(1) = s", 1, true))
    end
  end)
end

-- A graph of more values than a Lua function has locals.
function parts.large()
  check("large", function(a, b)
    for i = 1, 300 do a = a * 0.99 + b end
    return a, b * 2
  end, x, y)
  local sized = {} -- more size variables than a Lua function has locals
  for i = 1, 210 do
    sized[i] = tb.randn({ i + 2 })
    tb.mark_dynamic(sized[i], 1)
  end
  check("many sizes", function(...)
    local sum = 0
    for i = 1, select("#", ...) do
      local one = select(i, ...)
      sum = sum + (one + tb.ones(one:size(1))):sum()
    end
    return sum
  end, table.unpack(sized))
end

-- A folder that cannot be written is a note, and the compile goes on.
function parts.failures()
  with_folder(function(folder)
    for _, bad in ipairs { "/dev/null/x", folder .. "/none/x", "/proc/x" } do
      local compiled = tb.compile(function(a) return a + 1 end, { options = { debug = bad } })
      assert(is_tensor_equal(compiled(x), x + 1))
      local stats = tb.stats(compiled)
      assert(not stats.eager and #stats.fallbacks == 1 and stats.fallbacks[1]:find("debug folder: " .. bad, 1, true), stats.fallbacks[1])
    end
  end)
end

assert(parts[part], "no such part")()
