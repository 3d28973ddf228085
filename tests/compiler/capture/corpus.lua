-- Functions that capture takes whole, each run plain and compiled (backend=eager: the graph is executed operation by
-- operation by the same kernels), so that results must be equal bit for bit. An entry makes the function and its arguments
-- anew for each side. Run by test_capture_run.c; returns the names of what differs.
local tb = ...
local nn = tb.nn
local cases = {}

local function case(name, make) cases[#cases + 1] = { name = name, make = make } end
local function tensor(values) return tb.tensor(values, { dtype = "f32" }) end
local function x23() return tensor { { 1, -2, 3.5 }, { 0.25, 5, -6 } } end

-- operators, in every form that the bytecode has
case("arithmetic of tensors and numbers", function()
  local k = 3
  return function(x) return x + 1, 1 - x, x * 2.5, 2 / x, x - k, k * x, -x, x % 2, 7 // x, x ^ 2, x // 2, x + x / k end, x23()
end)
case("numbers", function()
  return function(a, b)
    return a + b, a - b, a * b, a / b, a % b, a // b, a ^ b, -a, a & 12, a | 3, a ~ b, ~a, a << 3, a >> 1, 2 << a, a << b, 255 // 1 | 0, b >> a, 1 + a, 10 - a, a - 300, a * 2, a % 3, a / 2, a ^ 2, a // 2, a | 1, a & 1, a ~ 1
  end, 7, 3
end)
case("integers wrap, floats do not", function()
  return function(m, n) return m + 1, m * 2, n - 1, n // -1, -n, m + 1.0, m == m + 0.0, n == n + 0.0, m // 0.0, 0.0 / 0.0 ~= 0.0 / 0.0 end, math.maxinteger, math.mininteger
end)
case("coercions", function()
  return function(s, t) return s + 1, s * t, s .. t, 1 .. 2, -s, s // 3, s % 7, 2 ^ s, 10 .. "", 1.5 .. "|", 1e100 .. "", -0.0 .. "" end, "10", "0x20"
end)
case("comparisons", function()
  return function(a, b, s, t)
    return a < b, a <= b, a > b, a >= b, a == b, a ~= b, s < t, s <= t, s == t, a < 3, a <= 3, a > 3, a >= 3, 3 < a, 3 >= a, a == 3, a == 3.0, s == "a", a < 2.5, not a, nil == a, a ~= nil, 2 ^ 53 == 2 ^ 53 + 1, math.maxinteger < math.huge, math.maxinteger + 0.0 == math.maxinteger
  end, 3, 4.5, "a", "b"
end)
case("logic", function()
  return function(a, b, c) return a and b, a or b, b and c, c or a, not c, (a and c) or b, a == nil and 1 or 2, c and 1, not not b end, nil, false, 0
end)
case("a tensor is true", function() return function(x) return x and 1 or 2, not x, x or 3 end, x23() end)

-- control flow
case("loops over integers", function()
  return function(x, n)
    for i = 1, n do x = x + i end
    for i = n, 1, -2 do x = x * i end
    for i = 1, 0 do x = nil end
    for i = math.maxinteger - 2, math.maxinteger do x = x + 1 end
    for i = 3, 1 do x = nil end
    return x
  end, x23(), 4
end)
case("loops over floats", function()
  return function(x)
    local list = {}
    for v = 0.1, 1, 0.3 do list[#list + 1] = v end
    for v = 1, 2.5 do list[#list + 1] = v end
    for v = 1.0, 3 do list[#list + 1] = v end
    for v = 1, -1, -0.5 do list[#list + 1] = v end
    for v = 5, math.huge, 3 do if v > 12 then break end list[#list + 1] = v end
    return x * list[2], list
  end, x23()
end)
case("while, repeat, goto, nested breaks", function()
  return function(x)
    local i = 0
    while true do
      i = i + 1
      if i == 2 then goto continue end
      x = x + i
      repeat local stop = i > 2; x = x * 2 until stop or i < 2
      if i > 4 then break end
      ::continue::
    end
    for a = 1, 3 do for b = 1, 3 do if b == 2 then goto out end x = x - a * b end ::out:: end
    return x, i
  end, x23()
end)
case("branches on guarded values", function()
  local config = { scale = 2, mode = "double", deep = { on = true } }
  return function(x, flag)
    if config.mode == "double" and flag then x = x * config.scale elseif config.mode then x = x / config.scale else return nil end
    if not config.deep.off and config.deep.on then x = -x end
    return x
  end, x23(), true
end)

-- functions
case("variable arguments", function()
  local function all(...) return select("#", ...), ... end
  local function sum(first, ...)
    local n, s = select("#", ...), first
    for i = 1, n do s = s + (select(i, ...)) end
    return s
  end
  return function(...)
    local a, b, c = ...
    local packed = table.pack(...)
    local t = { ..., "end" }
    local u = { "start", ... }
    return sum(...), packed.n, #t, #u, a, c, all(nil, nil), (all(1, 2)), select(-1, ...), table.unpack(packed, 2, 3)
  end, x23(), 2, 3
end)
case("results", function()
  local function none() end
  local function two() return 1, 2 end
  return function(x)
    local a, b, c = two()
    local d, e = (two())
    local t = { two(), two() }
    local u = { two(), (two()) }
    local f = none()
    return a, b, c, d, e, #t, #u, f, two(), x:sum(), two()
  end, x23()
end)
case("recursion and tail calls", function()
  local function fact(n) if n <= 1 then return 1 end return n * fact(n - 1) end
  local function loop(x, n) if n == 0 then return x end return loop(x + n, n - 1) end
  local even, odd
  function even(n) if n == 0 then return true end return odd(n - 1) end
  function odd(n) if n == 0 then return false end return even(n - 1) end
  return function(x) return x * fact(5), loop(x, 200), even(7), odd(7) end, x23()
end)
case("closures share their variables", function()
  return function(x)
    local n = 0
    local function up(by) n = n + by; return n end
    local function get() return n end
    up(2) up(3)
    local list = {}
    for i = 1, 3 do
      local j = i * 10
      list[i] = { function() j = j + 1; return i + j end, function() return j end }
    end
    local a = list[1][1]() + list[1][1]()
    do local n = 100; up(n) end
    local function nested() return function() n = n + 1; return get() end end
    return x * get(), a, list[1][2](), list[2][2](), nested()(), n
  end, x23()
end)
case("closures over loop variables and upvalues of outer functions", function()
  local outside = 5
  local function adder(k) return function(v) return v + k + outside end end
  return function(x)
    local fs = {}
    for i = 1, 3 do fs[#fs + 1] = adder(i) end
    local while_fs, i = {}, 1
    while i <= 3 do local c = i; while_fs[i] = function() c = c + 1; return c end; i = i + 1 end
    for _, f in ipairs(fs) do x = f(x) end
    return x, while_fs[1](), while_fs[1](), while_fs[3]()
  end, x23()
end)
case("methods", function()
  local Point = {}
  Point.__index = Point
  function Point.new(a, b) return setmetatable({ a = a, b = b }, Point) end
  function Point:add(other) return Point.new(self.a + other.a, self.b + other.b) end
  function Point:norm() return (self.a * self.a + self.b * self.b) end
  return function(x) return Point.new(x, 2 * x):add(Point.new(1, x)):norm() end, x23()
end)

-- tables
case("tables made here", function()
  return function(x)
    local t = { x, x + 1, n = 2, [10] = "ten", ["a b"] = true, [1.5] = "float", [false] = 0 }
    t[3] = x * 2; t.n = t.n + 1; t[10] = nil; t.x = { y = { z = x } }; t[2 ^ 1] = 7
    local keys = {}
    for i = 1, 60 do keys[i] = i * i end
    return t, #t, keys[60], t.x.y.z, t[1.0], t[1.5], t[false], rawequal(t, t), rawget(t, "n"), #keys
  end, x23()
end)
case("traversal", function()
  local outside = { w = 2, v = 3, 10, 20, u = { 5 } }
  return function(x)
    local names, total = {}, 0
    for k, v in pairs(outside) do
      names[#names + 1] = tostring(k)
      if type(v) == "number" then total = total + v; x = x + v end
    end
    local t = { a = 1, b = 2, c = 3, 4, 5, d = 6, e = 7, f = 8 }
    for k, v in pairs(t) do names[#names + 1] = k .. "=" .. v end
    for k in next, { only = 1 } do names[#names + 1] = k end
    for i, v in ipairs { 1, 2, nil, 4 } do total = total + i * v end
    for k in pairs(t) do t[k] = nil end
    return x, total, table.concat(names, ";"), next(t)
  end, x23()
end)
case("table functions", function()
  return function(x)
    local t = {}
    for i = 1, 5 do table.insert(t, i * 2) end
    table.insert(t, 1, "first")
    local removed = table.remove(t, 3)
    local last = table.remove(t)
    return table.concat(t, "-"), removed, last, table.concat(t, ",", 2, 3), table.remove({}), table.concat {}, select("#", table.unpack({}, 1, 3)), table.unpack({ x, 2 * x })
  end, x23()
end)
case("metatables", function()
  local V = {}
  V.__index = V
  local function new(v) return setmetatable({ v = v }, V) end
  V.__add = function(a, b) return new((a.v or a) + (type(b) == "table" and b.v or b)) end
  V.__mul = function(a, b) return new((type(a) == "table" and a.v or a) * (type(b) == "table" and b.v or b)) end
  V.__unm = function(a) return new(-a.v) end
  V.__len = function() return 12 end
  V.__eq = function(a, b) return a.v == b.v end
  V.__lt = function(a, b) return a.v < b.v end
  V.__le = function(a, b) return a.v <= b.v end
  V.__concat = function(a, b) return "joined" end
  V.__call = function(self, a, b) return self.v + a * b end
  V.__idiv = function(a, b) return "idiv" end
  V.__band = function(a, b) return "band" end
  V.__shl = function(a, b) return "shl" end
  V.__bnot = function() return "bnot" end
  V.__mod = function() return "mod" end
  V.__tostring = function() return "a V" end
  return function(x)
    local a, b = new(2), new(3)
    return (a + b).v, (a * 4).v, (4 * a).v, (-a).v, #a, a == new(2), a == b, a < b, a <= b, a > b, a .. "s", "s" .. a, 1 .. a, a(5, 6), a // 2, 2 // a, a & 1, 1 & a, a << 1, 1 << a, ~a, a % 2, tostring(a), a ~= b, (new(x) * 2).v, (x and a + 1).v
  end, x23()
end)
case("index chains", function()
  local base = { kind = "base", value = 1 }
  local middle = setmetatable({ name = "middle" }, { __index = base })
  local computed = setmetatable({}, { __index = function(t, k) return k .. "!" end })
  return function(x)
    local object = setmetatable({}, { __index = middle })
    local log = {}
    local watched = setmetatable({}, { __newindex = function(t, k, v) log[#log + 1] = k; rawset(t, k, v) end })
    watched.a = 1; watched.a = 2; watched.b = 3
    local redirected = {}
    local proxy = setmetatable({}, { __newindex = redirected, __index = redirected })
    proxy.p = x
    return object.kind, object.name, object.none, computed.what, #log, watched.a, redirected.p, proxy.p, rawget(proxy, "p"), x * object.value
  end, x23()
end)
case("iterators", function()
  local function range(n) local i = 0; return function() i = i + 1; if i <= n then return i, i * i end end end
  local function stateless(t, i) i = i + 1; if t[i] then return i, t[i] end end
  local counted = setmetatable({}, { __pairs = function(t) return function(_, k) k = (k or 0) + 1; if k < 4 then return k, -k end end, t, nil end })
  return function(x)
    local s = 0
    for i, q in range(4) do s = s + i * q end
    for i, v in stateless, { 5, 6, 7 }, 0 do s = s + i * v end
    for k, v in pairs(counted) do s = s + k * v end
    return x + s, s
  end, x23()
end)

-- the library on constants
case("strings and mathematics", function()
  return function(x, s)
    return s:upper(), s:sub(2, 3), #s, s:rep(2, "+"), s:find("l"), s:gsub("l", "L"), s:byte(1, 2), string.format("%5.2f|%d|%s|%q", 1.5, 3, "t", "q"), s:match("(%a)(%a)"), math.floor(2.7), math.ceil(2.2), math.max(1, 5, 3), math.min(2, 0.5), math.abs(-3), math.sqrt(16), math.pi, math.huge, math.tointeger(3.0), math.type(1), math.type(1.0), math.type("1"), math.fmod(7, 3), math.ult(1, -1), tostring(12), tostring(1.5), tostring(nil), tostring(true), tonumber("0x10"), tonumber("z", 36), tonumber("nope"), type(x), type(s), type(nil), type(print), ("%d"):format(7), utf8.char(228), rawlen { 1, 2 }, rawlen "abc"
  end, x23(), "hello"
end)

-- tensors
case("members of tensors", function()
  return function(x)
    local y = x:transpose(1, 2)
    return x.shape, x.dtype, x.device, x:size(1), x:size(-1), x:size(), x:dim(), x:numel(), x:stride(), y:stride(), y:is_contiguous(), #y, y:size(1) * x, x:view(-1):size(1)
  end, x23()
end)
case("indexing", function() return function(x) return x[1], x[-1], x[2][3], x[1] + x[2] end, x23() end)
case("views", function()
  return function(x) return x:view(3, 2), x:reshape { 6 }, x:transpose(1, 2), x:unsqueeze(1):squeeze(1), x:expand(4, 2, 3), x:narrow(2, 2, 2), x:permute(2, 1), x:flatten() end, x23()
end)
case("arguments by name and lists", function()
  local options = { dim = 2, keepdim = true }
  return function(x) return x:sum { dim = 1 }, x:sum(options), x:sum(2), x:amax(1, true), x:sum() end, x23()
end)
case("creation", function()
  return function(x) return x + tb.ones(2, 3), tb.zeros({ 2 }), tb.full({ 2, 2 }, 1.5), tb.arange(4), tb.zeros_like(x), tb.ones({ 2 }, { dtype = "i64" }) end, x23()
end)
case("random numbers in program order", function()
  return function(x) local a, b = tb.rand(2, 3), tb.randn(2, 3); return x + a, b, tb.rand(2) end, x23()
end)
case("results that are shared, nested, given back", function()
  local kept = { "kept" }
  return function(x, n, text)
    local y = x * 2
    return y, y, { y = y, list = { x, y, n } }, x, kept, n, text, nil, false
  end, x23(), 4, "text"
end)
case("a function that gives back its argument", function() return function(x) return x:float(), x:to("f32"), x:double():double() end, x23() end)
case("one tensor by two ways", function()
  local w = tensor { 1, 2, 3 }
  local holder = { w = w, deeper = { w = w } }
  return function(x, y) return x * w + holder.w - holder.deeper.w + y, x == y, x == w end, x23(), w
end)
case("dtypes", function() return function(x) return x:double() + 1, x:long() + 1, x:gt(0), x:bfloat16() * x, x:eq(x) end, x23() end)

-- modules
case("modules", function()
  local model = nn.Sequential { nn.Linear(3, 5), nn.ReLU(), nn.Sequential(nn.Linear(5, 5, false), nn.SiLU()), nn.Linear(5, 2) }
  return function(x) return model(x), model[1](x) end, x23()
end)
case("a module that counts in fresh tables", function()
  local Block = nn.class("Block")
  function Block:init(n) self.layers = {} for i = 1, n do self.layers[i] = nn.Linear(3, 3) end end
  function Block:forward(x)
    local seen = {}
    for i, layer in ipairs(self.layers) do x = x + layer(x):tanh(); seen[#seen + 1] = x end
    return x, seen
  end
  local block = Block(3)
  return function(x) return block(x) end, x23()
end)

-- comparison

local function same(a, b, seen)
  if tb.is_tensor(a) then
    if not tb.is_tensor(b) or a.dtype ~= b.dtype or a:dim() ~= b:dim() then return false end
    for d = 1, a:dim() do if a:size(d) ~= b:size(d) then return false end end
    local function equal(p, q)
      if type(p) ~= "table" then return p == q or (p ~= p and q ~= q) end
      for i = 1, math.max(#p, #q) do if not equal(p[i], q[i]) then return false end end
      return true
    end
    return equal(a:tolist(), b:tolist())
  end
  if math.type(a) ~= math.type(b) or type(a) ~= type(b) then return false end
  if type(a) == "table" then
    for k, v in pairs(a) do if type(k) ~= "table" and not same(v, b[k]) then return false end end
    for k in pairs(b) do if type(k) ~= "table" and a[k] == nil then return false end end
    return true
  end
  return a == b or (a ~= a and b ~= b)
end

-- Which results are one object, by their first positions.
local function identities(list)
  local first, text = {}, {}
  for i = 1, list.n do
    local v = list[i]
    if type(v) == "table" or type(v) == "userdata" then first[v] = first[v] or i; text[i] = first[v] else text[i] = 0 end
  end
  return table.concat(text, " ")
end

local failures = {}
for _, entry in ipairs(cases) do
  local ok, message = pcall(function()
    tb.manual_seed(1)
    local plain = table.pack(entry.make())
    tb.manual_seed(1)
    local other = table.pack(entry.make())
    local compiled = tb.compile(other[1], { backend = "eager", fullgraph = true })
    for call = 1, 3 do
      tb.manual_seed(call)
      local want = table.pack(plain[1](table.unpack(plain, 2, plain.n)))
      tb.manual_seed(call)
      local got = table.pack(compiled(table.unpack(other, 2, other.n)))
      if want.n ~= got.n then error(("call %d: %d results, not %d"):format(call, got.n, want.n), 0) end
      for i = 1, want.n do if not same(want[i], got[i]) then error(("call %d: result %d is %s, not %s"):format(call, i, tostring(got[i]), tostring(want[i])), 0) end end
      if identities(want) ~= identities(got) then error(("call %d: objects %s, not %s"):format(call, identities(got), identities(want)), 0) end
    end
  end)
  if not ok then failures[#failures + 1] = entry.name .. ": " .. tostring(message) end
end
return table.concat(failures, "\n"), #cases
