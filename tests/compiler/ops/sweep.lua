-- Every tensor function, compiled and eager, against float64, on random shapes and values; then with NaN, infinities and
-- empty tensors. Run by test_sweep.c, which passes the name of the part to run. A difference raises an error that names
-- the case, the dtype, the element and both values.
local tb = require "tbench"
local F = tb.nn.functional
local part = ...

local EPS = { f32 = 2 ^ -23, f64 = 2 ^ -52, bf16 = 2 ^ -7 }

local function randn(...) return tb.randn { ... } end
local function positive(...) return tb.rand { ... } + 0.1 end
local function index(n, ...) return (tb.rand { ... } * n):floor():long() + 1 end

-- name, function, makers of its arguments (floats are cast to the dtype under test), worst relative error in units of eps
local cases = {}
local function add(name, fn, makers, ulps) cases[#cases + 1] = { name = name, fn = fn, makers = makers, ulps = ulps or 8 } end
local function shape(maker, ...)
  local sizes = { ... }
  return function() return maker(table.unpack(sizes)) end
end

local SHAPES = { {}, { 1 }, { 7 }, { 16 }, { 33 }, { 3, 5 }, { 4, 16 }, { 2, 3, 4 }, { 5, 1, 67 }, { 1024 }, { 3, 1000 }, { 2, 1, 3, 130 } }

local unary = { neg = randn, abs = randn, sign = randn, floor = randn, ceil = randn, square = randn, reciprocal = positive, sqrt = positive, rsqrt = positive,
  exp = randn, log = positive, log1p = positive, sin = randn, cos = randn, tan = randn, tanh = randn, sigmoid = randn, erf = randn, relu = randn,
  gelu = randn, silu = randn, softplus = randn, isnan = randn, isinf = randn }
local names = {}
for name in pairs(unary) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
  local method = function(x) return x[name](x) end
  for i, s in ipairs(SHAPES) do
    if i % 3 == 1 or i == 5 then add(name .. " " .. i, method, { shape(unary[name], table.unpack(s)) }, name == "tan" and 64 or 8) end
  end
end
add("gelu tanh", function(x) return F.gelu(x, "tanh") end, { shape(randn, 5, 33) }, 16)

local PAIRS = { { { 3, 5 }, { 3, 5 } }, { { 3, 5 }, { 5 } }, { { 4, 1, 6 }, { 3, 1 } }, { { 7 }, { 1 } }, { { 1, 130 }, { 9, 1 } }, { {}, { 4, 4 } } }
for _, name in ipairs { "add", "sub", "mul", "div", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor" } do
  for i, p in ipairs(PAIRS) do
    add(name .. " " .. i, function(x, y) return tb[name](x, y) end, { shape(randn, table.unpack(p[1])), shape(randn, table.unpack(p[2])) })
  end
end
add("remainder", function(x, y) return x % y end, { shape(positive, 40), shape(positive, 40) }, 64)
add("pow", function(x, y) return x ^ y end, { shape(positive, 3, 40), shape(randn, 40) }, 64)
add("pow 2", function(x) return x ^ 2 end, { shape(randn, 40) })
add("pow 0.5", function(x) return x ^ 0.5 end, { shape(positive, 40) })
add("operators", function(x, y) return (x + 1) * (2 - y) / (x * x + 1.5) - -y end, { shape(randn, 6, 50), shape(randn, 50) }, 32)
add("where", function(x, y) return tb.where(x:gt(0), x, y * 2) end, { shape(randn, 4, 20), shape(randn, 20) })
add("masked_fill", function(x) return x:masked_fill(x:lt(0), -5) end, { shape(randn, 4, 20) })
add("clamp", function(x) return x:clamp(-0.5, 0.7) end, { shape(randn, 77) })
add("clamp max", function(x) return x:clamp { max = 0.25 } end, { shape(randn, 77) })

for _, name in ipairs { "sum", "mean", "amax", "amin", "prod", "var", "std" } do
  local method = function(dim, keep) return function(x) return x[name](x, dim, keep) end end
  add(name .. " all", method(), { shape(randn, 5, 37) }, 64)
  add(name .. " last", method(-1, false), { shape(randn, 6, 65) }, 64)
  add(name .. " first", method(1, true), { shape(randn, 9, 40) }, 64)
  add(name .. " middle", method(2, false), { shape(randn, 3, 17, 40) }, 64)
  add(name .. " two", method({ 1, 3 }, false), { shape(randn, 3, 7, 5) }, 64)
  add(name .. " long", method(), { shape(name == "prod" and positive or randn, name == "prod" and 40 or 70001) }, 2000)
end
for _, name in ipairs { "argmax", "argmin", "any", "all" } do
  add(name .. " last", function(x) return x[name](x, -1) end, { shape(randn, 6, 33) })
  add(name .. " first", function(x) return x[name](x, 1, true) end, { shape(randn, 6, 33) })
  add(name .. " all", function(x) return x[name](x) end, { shape(randn, 6, 33) })
end
for _, name in ipairs { "softmax", "log_softmax", "logsumexp" } do
  add(name .. " last", function(x) return x[name](x, -1) end, { shape(randn, 5, 67) }, 32)
  add(name .. " first", function(x) return x[name](x, 1) end, { shape(randn, 12, 40) }, 32)
  add(name .. " middle", function(x) return x[name](x, 2) end, { shape(randn, 3, 12, 20) }, 32)
end

add("matmul 1d", function(x, y) return x:matmul(y) end, { shape(randn, 40), shape(randn, 40) }, 256)
add("matmul 2d1d", function(x, y) return x:matmul(y) end, { shape(randn, 7, 40), shape(randn, 40) }, 256)
add("matmul 1d2d", function(x, y) return x:matmul(y) end, { shape(randn, 40), shape(randn, 40, 9) }, 256)
add("matmul 2d", function(x, y) return x:matmul(y) end, { shape(randn, 17, 40), shape(randn, 40, 33) }, 256)
add("matmul t", function(x, y) return x:matmul(y:t()) end, { shape(randn, 17, 40), shape(randn, 33, 40) }, 256)
add("matmul batch", function(x, y) return x:matmul(y) end, { shape(randn, 2, 3, 7, 20), shape(randn, 3, 20, 9) }, 256)
add("matmul broadcast", function(x, y) return x:matmul(y) end, { shape(randn, 4, 1, 7, 20), shape(randn, 5, 20, 9) }, 256)
add("linear", function(x, w, b) return F.linear(x, w, b) end, { shape(randn, 5, 3, 24), shape(randn, 31, 24), shape(randn, 31) }, 256)
add("linear relu", function(x, w, b) return F.linear(x, w, b):relu() * 2 end, { shape(randn, 8, 24), shape(randn, 32, 24), shape(randn, 32) }, 256)
add("layer_norm", function(x, w, b) return F.layer_norm(x, { 67 }, w, b) end, { shape(randn, 9, 67), shape(randn, 67), shape(randn, 67) }, 64)
add("layer_norm 2", function(x) return F.layer_norm(x, { 6, 11 }) end, { shape(randn, 9, 6, 11) }, 64)
add("rms_norm", function(x, w) return F.rms_norm(x, { 67 }, w, 1e-5) end, { shape(randn, 9, 67), shape(randn, 67) }, 64)
add("sdpa", function(q, k, v) return F.scaled_dot_product_attention(q, k, v) end, { shape(randn, 2, 3, 9, 16), shape(randn, 2, 3, 11, 16), shape(randn, 2, 3, 11, 8) }, 256)
add("sdpa causal", function(q, k, v) return F.scaled_dot_product_attention(q, k, v, { is_causal = true }) end, { shape(randn, 2, 9, 16), shape(randn, 2, 9, 16), shape(randn, 2, 9, 16) }, 256)
add("attention by hand", function(x, w)
  local b, t, e = x:size(1), x:size(2), x:size(3)
  local qkv = F.linear(x, w):chunk(3, -1)
  local function heads(y) return y:view(b, t, 4, e // 4):transpose(2, 3) end
  local q, k, v = heads(qkv[1]), heads(qkv[2]), heads(qkv[3])
  local p = (q:matmul(k:transpose(-2, -1)) * (e // 4) ^ -0.5):softmax(-1)
  return p:matmul(v):transpose(2, 3):reshape(b, t, e)
end, { shape(randn, 2, 10, 32), shape(randn, 96, 32) }, 2048)

add("view", function(x) return x:view(6, 20):exp() end, { shape(randn, 2, 3, 20) })
add("reshape permute", function(x) return x:permute(3, 1, 2):reshape(4, -1) + 1 end, { shape(randn, 2, 3, 20) })
add("transpose", function(x) return x:transpose(1, 2):contiguous() * 2 end, { shape(randn, 19, 37) })
add("expand", function(x) return x:expand(4, 3, 20) * 1 end, { shape(randn, 3, 1) })
add("squeeze", function(x) return x:squeeze(2):unsqueeze(-1) + x end, { shape(randn, 5, 1, 1) })
add("narrow", function(x) return x:narrow(2, 3, 5) - x:narrow(2, 1, 5) end, { shape(randn, 4, 9) })
add("slice", function(x) return x:slice(2, 2, -1, 3) * 2 end, { shape(randn, 4, 20) })
add("index", function(x) return x[2] + x[1] end, { shape(randn, 4, 20) })
add("flip", function(x) return x:flip(1, 2) + x end, { shape(randn, 6, 21) })
add("pad", function(x) return F.pad(x, { 2, 3, 1, 0 }, "constant", 1.5) * 2 end, { shape(randn, 4, 19) })
add("cat", function(x, y) return tb.cat({ x * 2, y, x }, 2):exp() end, { shape(randn, 3, 7), shape(randn, 3, 20) })
add("cat of slices", function(x)
  local parts = x:split({ 30, 64, 1, 77, 28, 50 })
  for i = 1, #parts do parts[i] = parts[i]:flip(1) end
  return tb.cat(parts, -1)
end, { shape(randn, 250) })
add("cat of cats", function(x, y)
  local z = tb.cat({ x, y, x }, -1)
  return tb.cat({ z, -y, z, tb.zeros { 3, 0 }, x:expand(3, 70) }, 2) + 1
end, { shape(randn, 3, 70), shape(randn, 3, 40) })
add("cat of rows", function(x, y) return tb.cat({ x, y * 2, x:flip(1), x }, -2) end, { shape(randn, 5, 70), shape(randn, 2, 70) })
add("cat of dtypes", function(x, y) return tb.cat({ x, y:float(), x:gt(0), y }, 1) end, { shape(randn, 90), shape(randn, 70) })
add("cat first", function(x, y) return tb.cat({ x, y }, 1) end, { shape(randn, 3, 7), shape(randn, 2, 7) })
add("stack", function(x, y) return tb.stack({ x, y }, 2) end, { shape(randn, 3, 17), shape(randn, 3, 17) })
add("split", function(x) local p = x:split(4, 2) return p[1] + p[2], p[3] end, { shape(randn, 3, 10) })
add("chunk", function(x) local p = x:chunk(3, -1) return p[1] * p[2] + p[3] end, { shape(randn, 5, 24) })
add("unbind", function(x) local p = x:unbind(1) return p[1] + p[2] * p[3] end, { shape(randn, 3, 21) })
add("tril", function(x) return x:tril(1) end, { shape(randn, 3, 11, 13) })
add("triu", function(x) return (x * 2):triu(-2) end, { shape(randn, 11, 18) })
add("clone", function(x) return x:clone() end, { shape(randn, 3, 11) })
add("gather", function(x, i) return x:gather(2, i) end, { shape(randn, 5, 9), function() return index(9, 5, 4) end })
add("index_select", function(x, i) return x:index_select(1, i) * 2 end, { shape(randn, 8, 19), function() return index(8, 5) end })
add("embedding", function(i, w) return F.embedding(i, w) + 1 end, { function() return index(10, 4, 3) end, shape(randn, 10, 19) })
add("full in graph", function(x) return x + tb.ones { 5 } + tb.arange(5):to(x.dtype) + tb.full({ 5 }, 2.5):to(x.dtype) end, { shape(randn, 3, 5) })
add("sobel", function(x)
  local h, w = x:size(1), x:size(2)
  local a, b = x:narrow(1, 1, h - 2), x:narrow(1, 3, h - 2)
  return (b:narrow(2, 2, w - 2) - a:narrow(2, 2, w - 2)):abs() + (b:narrow(2, 1, w - 2) - a:narrow(2, 3, w - 2)):square()
end, { shape(randn, 21, 39) }, 32)
add("entropy", function(x) local p = x:softmax(-1) return -(p * (p + 1e-9):log()):sum(-1) end, { shape(randn, 6, 70) }, 64)
add("norm by hand", function(x, r)
  local m = x:mean(-1, true)
  local c = x - m
  return F.gelu(c / ((c * c):mean(-1, true) + 1e-5):sqrt()) + r
end, { shape(randn, 6, 130), shape(randn, 6, 130) }, 64)
add("two results", function(x) local e = x:exp() return e, e:sum(-1), { e + 1, x } end, { shape(randn, 4, 33) }, 64)
add("column softmax then row sum", function(x) return x:softmax(1):sum(2) end, { shape(randn, 14, 37) }, 64)
add("chain of reductions", function(x) return (x - x:amax(-1, true)):exp():sum(-1):log():mean() end, { shape(randn, 30, 40) }, 64)

local function numbers(t) return t:reshape(-1):double():tolist() end

local function is_tensor(v) return type(v) == "userdata" end

local function compare(where, got, want, allowed)
  local g, w = numbers(got), numbers(want)
  if #g ~= #w then error(where .. ": " .. #g .. " elements instead of " .. #w) end
  local scale = 0
  for i = 1, #w do if w[i] == w[i] and math.abs(w[i]) < math.huge then scale = math.max(scale, math.abs(w[i])) end end
  for i = 1, #w do
    local nan = w[i] ~= w[i]
    local good
    if nan or g[i] ~= g[i] then good = nan and g[i] ~= g[i]
    elseif math.abs(w[i]) == math.huge or math.abs(g[i]) == math.huge then good = g[i] == w[i]
    else good = math.abs(g[i] - w[i]) <= allowed * math.max(scale, 1e-30) end
    if not good then error(string.format("%s: element %d is %.9g instead of %.9g (allowed %.3g of %.3g)", where, i, g[i], w[i], allowed, scale)) end
  end
end

local function compare_all(where, got, want, allowed)
  if is_tensor(want) then
    for d = 1, math.max(got:dim(), want:dim()) do
      if got:dim() ~= want:dim() or got:size(d) ~= want:size(d) then error(where .. ": another shape") end
    end
    compare(where, got, want, allowed)
  elseif type(want) == "table" then
    for k, v in pairs(want) do compare_all(where .. "/" .. tostring(k), got[k], v, allowed) end
  elseif got ~= want then
    error(where .. ": " .. tostring(got) .. " instead of " .. tostring(want))
  end
end

local function cast(t, dtype) return (t.dtype == "f32") and t:to(dtype) or t end

local function run(case, dtype, poison)
  local args, wide = {}, {}
  for i, maker in ipairs(case.makers) do
    local value = maker()
    if poison and value.dtype == "f32" then value = poison(value) end
    args[i] = cast(value, dtype)
    wide[i] = args[i].dtype == dtype and args[i]:double() or args[i]
  end
  local where = case.name .. " " .. dtype
  local allowed = case.ulps * EPS[dtype]
  local want = table.pack(case.fn(table.unpack(wide)))
  local eager = table.pack(case.fn(table.unpack(args)))
  local compiled = tb.compile(case.fn, { fullgraph = true })
  local first = table.pack(compiled(table.unpack(args)))
  local second = table.pack(compiled(table.unpack(args)))
  local third = table.pack(tb.compile(case.fn, { fullgraph = true, backend = "aot_eager" })(table.unpack(args)))
  if #tb.stats(compiled).fallbacks > 0 then error(where .. ": " .. tb.stats(compiled).fallbacks[1]) end
  for i = 1, want.n do
    compare_all(where .. " eager", eager[i], want[i], allowed)
    compare_all(where .. " compiled", first[i], want[i], allowed)
    compare_all(where .. " second call", second[i], want[i], allowed)
    compare_all(where .. " aot_eager", third[i], want[i], allowed)
  end
end

-- Where rounding of the input's dtype decides (comparisons, floor), results agree since all roles get the same values.
local parts = {}
function parts.f32() for _, case in ipairs(cases) do run(case, "f32") end end
function parts.f64() for _, case in ipairs(cases) do run(case, "f64") end end
function parts.bf16()
  local skip = { prod = true, var = true, std = true }
  for _, case in ipairs(cases) do
    if not skip[case.name:match "^%a+"] then run(case, "bf16") end
  end
end

function parts.special()
  local values = tb.tensor { 0 / 0, math.huge, -math.huge, 0, -0.0, 1e-40, 1e18, -1 }
  local function poison(t)
    if t:dim() == 0 or t:size(-1) < 8 then return t end
    local rest = t:narrow(-1, 9, t:size(-1) - 8)
    local shape = t.shape
    shape[#shape] = 8
    return tb.cat({ values:expand(table.unpack(shape)), rest }, -1)
  end
  local plain = { "neg", "abs", "sqrt", "exp", "log", "sigmoid", "tanh", "erf", "relu", "isnan", "isinf", "add", "mul", "maximum", "minimum", "lt", "eq",
    "amax", "amin", "where", "clamp", "cat", "flip", "silu" }
  local wanted = {}
  for _, name in ipairs(plain) do wanted[name] = true end
  for _, case in ipairs(cases) do
    if wanted[case.name:match "^[%a_]+"] then run(case, "f32", poison) end
  end
end

function parts.empty()
  local fns = { function(x) return x + 1 end, function(x) return x:sum() end, function(x) return x:sum(-1) end, function(x) return x:exp():sum(1) end,
    function(x) return x:softmax(-1) end, function(x) return tb.cat({ x, x }, 1) end, function(x) return x:transpose(1, 2) * 2 end,
    function(x) return x:matmul(x:t()) end, function(x) return x:t():matmul(x) end }
  for _, sizes in ipairs { { 0, 3 }, { 3, 0 }, { 0, 0 } } do
    for i, fn in ipairs(fns) do
      local x = tb.randn(sizes)
      compare_all("empty " .. i, tb.compile(fn, { fullgraph = true })(x), fn(x:double()), 1e-6)
      compare_all("empty eager " .. i, fn(x), fn(x:double()), 1e-6)
    end
  end
end

-- The same values behind other strides: the first and the last dimension stored in the other order.
function parts.strides()
  for _, case in ipairs(cases) do
    local makers = {}
    for i, maker in ipairs(case.makers) do
      makers[i] = function()
        local t = maker()
        return t:dim() < 2 and t or t:transpose(1, -1):contiguous():transpose(1, -1)
      end
    end
    if not case.name:find "^view" then run({ name = case.name .. " strided", fn = case.fn, ulps = case.ulps, makers = makers }, "f32") end
  end
end

-- Random functions give the same numbers in program order, eager or compiled, and another set at the next call.
function parts.random()
  local function f(x) return x + tb.rand { 100 }, tb.randn { 7, 33 }, F.dropout(x, 0.25, true) end
  local x = tb.ones { 100 }
  tb.manual_seed(11)
  local a = { { f(x) }, { f(x) } }
  local compiled = tb.compile(f, { fullgraph = true })
  tb.manual_seed(11)
  local b = { { compiled(x) }, { compiled(x) } }
  for call = 1, 2 do for i = 1, 3 do compare("random " .. i, b[call][i], a[call][i], 4e-7) end end
  local differs = (a[1][1] - a[2][1]):abs():sum():item()
  if differs == 0 then error "two calls drew the same numbers" end
end

assert(parts[part], "no such part")()
