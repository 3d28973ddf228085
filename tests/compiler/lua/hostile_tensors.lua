-- Hostile programs on the side of tensors (bad shapes and types, scalars and empty ones, extreme values, writes and aliases),
-- plain and compiled. Run by test_lua_hostile.c. An entry gives the function and its arguments; C wraps what is compiled.
local tests = select(2, ...)
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local F, case = tb.nn.functional, plain.check
local x, x23, scalar = tb.tensor { 0.5, -1.5, 2.0 }, tb.tensor { { 1.0, 2, 3 }, { 4, 5, 6 } }, tb.tensor(2.5)
local huge, nan = math.huge, 0 / 0

-- each runs on x23; what plain Lua raises, compiled raises
local misuse = {
  function(v) return v * "2" end, function(v) return "2" + v end, function(v) return v .. "a" end, function(v) return "a" .. v end,
  function(v) return v < v end, function(v) return v <= 1 end, function(v) return v & 1 end, function(v) return {} + v end,
  function(v) return v:nope() end, function(v) return v.T end, function(v) v[1] = 3 end, function(v) v.k = 3 end, function(v) return v(1) end,
  function(v) return v[1.5] end, function(v) return v[2.0] end, function(v) return v[nil] end, function(v) return v[{}] end, function(v) return v[true] end,
  function(v) return v["1"] end, function(v) return v[0] end, function(v) return v[3] end, function(v) return v[-3] end, function(v) return v[math.mininteger] end,
  function(v) for _ in pairs(v) do end end, function(v) return next(v) end, function(v) for _ in v do end end, function(v) for _ = 1, v do end end,
  function(v) local n = 0 for i in ipairs(v) do n = n + i end return n end, function(v) return table.unpack(v) end,
  function(v) return v:sum("1") end, function(v) return v:sum(0) end, function(v) return v:sum(3) end, function(v) return v:sum(-3) end,
  function(v) return v:sum(1.5) end, function(v) return v:sum { 1, -2 } end, function(v) return v:sum { 1, "2" } end,
  function(v) return v:sum { dim = 1, [1] = 2 } end,
  function(v) return v:sum(1, { dim = 1 }) end, function(v) return v:sum { dimm = 1 } end, function(v) return v:sum { ["dim\0"] = 1 } end,
  function(v) return v:size(0) end, function(v) return v:size(3) end, function(v) return v:size("x") end, function(v) return v.size(5) end,
  function(v) return v:view(5) end, function(v) return v:view(-1, -1) end, function(v) return v:t():view(6) end, function(v) return v:view("6") end,
  function(v) return v:reshape(4, -1) end, function(v) return v:expand(5, 5) end, function(v) return v:permute(1) end, function(v) return v:permute(1, 1) end,
  function(v) return v:squeeze(9) end, function(v) return v:unsqueeze(0) end, function(v) return v:view(1, 1, 1, 1, 1, 1, 1, 1, 6) end,
  function(v) return v:matmul(v) end, function(v) return v + tb.ones(4) end, function(v) return v:add(v, "x") end, function(v) return v:to("f32\0") end,
  function(v) return v:item() end, function(v) return v:chunk(0) end, function(v) return v:split { 1, 9 } end, function(v) return v:narrow(1, 2, 5) end,
  function(v) return v:slice(1, 0) end, function(v) return v:clamp() end, function(v) return v:softmax() end, function(v) return v:dropout() end,
  function() return tb.cat {} end, function(v) return tb.cat { v, nil, v } end, function(v) return tb.cat { v, 1 } end, function(v) return tb.cat(v) end,
  function(v) return tb.cat { v, v, dim = 1 } end, function(v) return tb.stack { v, v:t() } end, function(v) return tb.cat({ v, v }, 3) end,
  function(v) return tb.where(v, v, v) end, function(v) return v:long():gelu() end, function(v) return v:long():mean() end, function(v) return -v:bool() end,
  function(v) return v:gather(1, v) end, function(v) return v:gather(1, tb.tensor { 1 }) end, function(v) return F.embedding(v, v) end,
  function() return tb.zeros(-1) end, function() return tb.zeros("3") end, function() return tb.zeros({ 2 }, { dtype = 5 }) end, function() return tb.zeros(1 << 40) end,
  function() return tb.zeros({ 2 }, { dtype = "f16" }) end, function() return tb.zeros({ 2 }, { device = "moon" }) end, function() return tb.arange(3, 1) end,
  function() return tb.arange(0, 1, 0) end, function() return tb.arange(1, huge) end, function() return tb.full({ 2 }, "x") end, function() return tb.rand({ 2 }, { dtype = "i64" }) end,
  function() return tb.tensor { { 1 }, { 1, 2 } } end, function(v) return v:expand(1 << 50, 2, 3):contiguous() end, function(v) return v:view(2, 3, 1, 1, 1, 1, 1, 1):unsqueeze(1) end,
}
for i, f in ipairs(misuse) do case("misuse " .. i, function(C) return C(f), x23 end) end

case("as keys, conditions, values", function(C)
  return C(function(v)
    local t = { [v] = 1 }
    t[v + 1] = 2
    return t[v], t[v + 1], v == v, v ~= v, v == v:view(3), v == nil, v and 1, not v, v.sum(v), v.add(v, v), tostring(v:sum()), v:tolist()
  end), x
end)
case("branches on data", function(C)
  return C(function(v)
    local n = 0
    while v:sum():item() < 100 do v = v * 2 n = n + 1 end
    if v[1]:item() > 3 then return v, n else return n end
  end), x
end)

case("tensors without dimensions", function(C)
  local f = C(function(v)
    return v + 1, v:sum(), v:sum(1), v:sum(-1), v:amax(1), v:softmax(1), v:unsqueeze(1), v:squeeze(), v:reshape(1), v:reshape({}), v:expand(3), v:t(), v:permute(),
      v:flip(1), v:flatten(), v:argmax(), v:argmax(1), v:var(), v:logsumexp(1), v:numel(), v:dim(), tb.stack { v, v }, v:view({}), v:stride(), v:gather(1, tb.tensor(1))
  end)
  local wrong = { C(function(v) return v[1] end), C(function(v) return #v end), C(function(v) return tb.cat { v, v } end), C(function(v) return v:matmul(v) end),
    C(function(v) return v:gather(1, tb.tensor(2)) end), C(function(v) return v:unbind() end), C(function(v) return v:sum(2) end) }
  return function()
    local r = { f(scalar) }
    for i, g in ipairs(wrong) do r[#r + i] = select(2, pcall(g, scalar)) end
    return r
  end
end)
case("empty tensors", function(C)
  local f = C(function(v, name) return v[name](v), v[name](v, 1), v[name](v, 2) end)
  return function()
    local r = {}
    for _, name in ipairs { "sum", "prod", "any", "all", "amax", "argmin", "max", "logsumexp", "softmax" } do
      for _, sizes in ipairs { { 0, 3 }, { 3, 0 } } do
        r[#r + 1] = { pcall(f, tb.zeros(sizes), name) }
      end
    end
    return r
  end
end, { "eager" })
case("empty products", function(C)
  local f = C(function(a, b) return a:matmul(b) end)
  return function() return f(tb.ones(2, 0), tb.ones(0, 3)), f(tb.ones(0, 2), tb.ones(2, 3)), f(tb.ones(0), tb.ones(0)), pcall(f, tb.ones(2, 0), tb.ones(1, 3)) end
end)

case("integers that wrap and divide", function(C)
  local f = C(function(a, b) return a + b, a * b, a - b, -a, a:abs(), a // b, a % b, tb.maximum(a, b), a:pow(2), a / b, a:sum(), a:prod() end)
  local m, n = math.maxinteger, math.mininteger
  return f, tb.tensor { m, n, n, -7, 7, 0, m }, tb.tensor { -1, -1, 1, 2, -2, 5, n }
end)
case("NaN, infinities, signed zeros", function(C)
  local f = C(function(a, b)
    return a // b, tb.maximum(a, b), tb.minimum(a, b), a:clamp(0, 1), a:sign(), a:floor(), a:ceil(), a:bool(), a:eq(b), a:lt(b), a:relu(), a:amax(), a:argmax(), a:isnan()
  end)
  return f, tb.tensor { 1, -1, huge, -huge, nan, 0, -0.0, 5.5 }, tb.tensor { 0, 0, 2, 2, 1, huge, -huge, nan }
end)
case("casts at the edges", function(C)
  return C(function(v) return v:long(), v:bool(), v:double(), v:bfloat16() end), tb.tensor { 1.5, -1.5, 0.999, -0.0, 1e10, 2 ^ 31, -2 ^ 31, 3.4e38 }
end)
case("dtypes, shapes and strides of one function", function(C)
  local f = C(function(v) return v + 1, v.dtype, v.shape, v:stride(), v:is_contiguous() end)
  return function()
    return { f(tb.ones(2)) }, { f(tb.ones(2):double()) }, { f(tb.ones(2):long()) }, { f(tb.ones(2):bool()) }, { f(tb.ones(2, 3):t()) }, { f(tb.ones(3, 2):t()) }
  end
end)

-- writes and aliases
case("writes outside and inside", function(C)
  local f, g = C(function(v) return v * 2 end), C(function(v) v:add_(1) local y = v * 2 v:mul_(y) return y, v end)
  return function()
    local a = tb.ones(2)
    local r = { f(a) }
    a:fill_(5)
    r[2] = f(a)
    a:add_(1)
    r[3] = f(a)
    return r, { g(a) }, { g(a) }, a
  end
end)
case("results that share memory with arguments", function(C)
  local f = C(function(v)
    local y = v:clone()
    return y, y:view(-1), v:transpose(1, 2), v, v:reshape(24), v:flatten(2, 3), y:reshape(6, 4)
  end)
  return function()
    local results = {}
    for i, v in ipairs { tb.zeros(2, 3, 4), tb.zeros(4, 3, 2):transpose(1, 3) } do -- reshapes of the second one copy
      local y, flat, turned, same, whole, part, other = f(v)
      y:fill_(3)
      whole:fill_(4)
      part:add_(1)
      turned[1][1]:fill_(7)
      results[i] = { y, flat, turned, same == v, whole, part, other, v }
    end
    return results
  end
end)
case("contiguous and views of what is contiguous already", function(C)
  local f = C(function(v, w)
    local a, b, c = v:contiguous(), v:expand_as(w):contiguous(), v:t():t():contiguous()
    return a == v, b:stride(), c:stride(), v:narrow(1, 1, v:size(1)):contiguous():is_contiguous()
  end)
  return function() return { f(tb.ones(2, 2), tb.ones(2, 2)) }, { f(tb.ones(0, 3):t(), tb.ones(3, 0)) } end
end)
case("in place on a part of an argument", function(C)
  local f = C(function(v) v[1]:fill_(9) return v end)
  return function() local a = tb.zeros(2, 2) return f(a), a end
end)
case("shapes as tables", function(C)
  local f = C(function(v)
    local s = v.shape
    s[1] = 99
    return s[1], v.shape[1], v:view(v:size(1) * v:size(2)), tb.zeros(v:size()), tb.ones(v.shape), tb.arange(v:numel()), v:reshape(#v, -1)
  end)
  return function() return { f(x23) }, { f(x23:t():contiguous()) } end
end)
case("lists of tensors that change", function(C)
  local f = C(function(l) return tb.cat(l), #l end)
  return function()
    local l = { tb.ones(1), tb.zeros(1) }
    local a = { f(l) }
    l[3] = tb.ones(1)
    local b = { f(l) }
    l[2] = nil
    return a, b, { pcall(f, l) }, { pcall(f, setmetatable({}, { __index = l })) }
  end
end)
case("options from tables that change", function(C)
  local options = { dtype = "f32" }
  local f = C(function() return tb.ones({ 1 }, options), tb.zeros({ 2 }, { dtype = "f64", batch = 3, fn = print }) end)
  return function()
    options.dtype = "f32"
    local a = f()
    options.dtype = "f64"
    local b = f()
    options.dtype = nil
    return a, b, f()
  end
end)
