-- Hostile programs on Lua's side (tables and metatables that change, strings as numbers, recursion, errors, finalizers), plain
-- and compiled. Run by test_lua_hostile.c. An entry gives the function and its arguments; C wraps what is compiled.
local tests = select(2, ...)
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local nn, case = tb.nn, plain.check
local x = tb.tensor { 0.5, -1.5, 2.0 }

-- what the module and its classes hold is looked up at each call
case("a function of the module replaced", function(C)
  local kept, f = tb.relu, C(function(v) return tb.relu(v) end)
  return function()
    local a = f(x)
    tb.relu = function(v) return v * 100 end
    local b = f(x)
    tb.relu = nil
    local c = { pcall(f, x) }
    tb.relu = kept
    return a, b, c, f(x)
  end
end)
case("a class and a module changed", function(C)
  local module, kept = nn.ReLU(), nn.ReLU.forward
  local f = C(function(v) return module(v) end)
  return function()
    local a = f(x)
    nn.ReLU.forward = function(_, v) return v * 7 end
    local b = f(x)
    module.forward = function() return 5 end
    local c = f(x)
    module.forward, nn.ReLU.forward = nil, kept
    return a, b, c, f(x)
  end
end)
case("weights replaced and written", function(C)
  local module, input = nn.Linear(3, 2), tb.ones(4, 3)
  local f = C(function(v) return module(v) end)
  return function()
    module.weight, module.bias = tb.ones(2, 3), tb.zeros(2)
    local a = f(input)
    module.weight = module.weight * 2
    local b = f(input)
    module.bias = nil
    local c = f(input)
    module.weight:fill_(3)
    local d = f(input)
    module.weight = "none"
    return a, b, c, d, pcall(f, input)
  end
end)
case("a metatable on the module's table", function(C)
  local f = C(function() return tb.nothing end)
  return function()
    local a = f()
    setmetatable(tb, { __index = function(_, k) return k end })
    local b = f()
    setmetatable(tb, nil)
    return a, b, f()
  end
end)
case("standard functions swapped", function(C)
  local a, b = type, rawlen
  return function()
    type, rawlen = b, a
    local f = C(function(t) return type(t), rawlen(t) end)
    local results = table.pack(pcall(f, { 1, 2 }))
    type, rawlen = a, b
    return table.unpack(results, 1, results.n)
  end
end)
case("methods of strings added", function(C)
  local methods, f = getmetatable("").__index, C(function(s) return s:shout(), s.nothing end)
  return function()
    methods.shout = function(s) return s .. "!" end
    local a = { pcall(f, "q") }
    methods.shout = function() return "second" end
    local b = { pcall(f, "q") }
    methods.shout = nil
    return a, b, pcall(f, "q")
  end
end)

-- metatables
case("metatables swapped and removed", function(C)
  local A, B = { __index = { v = 1 }, __add = function() return "A" end }, { __index = { v = 2 }, __add = function() return "B" end }
  local object = setmetatable({}, A)
  local f = C(function() return object.v, object + 1 end)
  return function()
    setmetatable(object, A)
    local a = { f() }
    setmetatable(object, B)
    local b = { f() }
    setmetatable(object, nil)
    return a, b, pcall(f)
  end
end)
case("metamethods added", function(C)
  local meta = {}
  local object, f = setmetatable({}, meta), nil
  f = C(function() return object.k end)
  return function()
    object.k = nil
    local a = f()
    meta.__index = { k = 5 }
    local b = f()
    meta.__index = function() return 6 end
    local c = f()
    meta.__index, object.k = nil, 7
    return a, b, c, f()
  end
end)
case("odd results of metamethods", function(C)
  local m = setmetatable({}, { __index = function(_, k) return k .. k end, __len = function() return "len" end, __unm = function() return 1, 2 end,
    __concat = function() return "cc" end, __call = function(_, ...) return select("#", ...), ... end, __eq = function() return 1 end,
    __lt = function() return nil end, __le = function() return "x" end, __tostring = function() return "TS" end, __metatable = "locked" })
  local other = setmetatable({}, { __eq = function() return 1 end })
  return C(function()
    return m.foo, #m, -m, m .. "a", "a" .. m, m(1, nil, 3), m == other, m < other, m <= other, m > other, m ~= other, tostring(m), getmetatable(m), rawlen(m)
  end)
end)
case("a bad __tostring", function(C)
  local m = setmetatable({}, { __tostring = function() return 5 end })
  return C(function() return tostring(m) end)
end)
case("chains that are long, and that loop", function(C)
  local base, a, b = {}, {}, {}
  for _ = 1, 90 do base = setmetatable({}, { __index = base }) end
  setmetatable(a, { __index = b })
  setmetatable(b, { __index = a })
  local f, g = C(function() return base.k end), C(function() return a.k end)
  return function() local ok, message = pcall(g) return f(), ok, message:match("loop") end
end)
case("writes through __newindex", function(C)
  local log = {}
  local object = setmetatable({}, { __newindex = function(t, k, v) log[#log + 1] = k .. v rawset(t, k, v) end })
  local f = C(function(n) object.a = n object.b = n + 1 return object.a end)
  return function() return f(1), f(2), log end
end)
case("a finalizer in traced code", function(C)
  local log = {}
  local f = C(function() local t = setmetatable({}, { __gc = function() log[#log + 1] = "gc" end }) t = nil return x + 1 end)
  return function()
    local r = f()
    collectgarbage()
    collectgarbage()
    return r, #log
  end
end)
case("finalizers that call and reset", function(C)
  local n, f = 0, nil
  f = C(function(v) return v * 2 end)
  return function()
    for _ = 1, 20 do setmetatable({}, { __gc = function() f(x) n = n + 1 pcall(tb.reset, f) end }) end
    collectgarbage()
    collectgarbage()
    return f(x), n
  end
end)
case("to-be-closed variables", function(C)
  local log = {}
  return C(function()
    do local a <close> = setmetatable({}, { __close = function() log[#log + 1] = "c" end }) end
    local none <close> = nil
    local five <const> = 5
    return x + five, #log
  end)
end)

-- facts that change between calls
case("upvalues of many kinds", function(C)
  local k, t = 1, { v = 2 }
  local f = C(function() return x * k + t.v end)
  return function()
    k, t = 1, { v = 2 }
    local r = { f() }
    k = 2 r[2] = f()
    t.v = 3 r[3] = f()
    t = { v = tb.ones(3) } r[4] = f()
    k = "2" r[5] = select(2, pcall(f))
    k = true r[6] = select(2, pcall(f))
    k = nil r[7] = select(2, pcall(f))
    return r
  end
end)
case("integers, floats, signed zeros, NaN", function(C)
  local f = C(function(k) return x + k, math.type(k), 1 / k, k == k, tb.full({ 2 }, k) end)
  return function() return { f(1) }, { f(1.0) }, { f(0.0) }, { f(-0.0) }, { f(0 / 0) } end
end)
case("the same and distinct objects", function(C)
  local f = C(function(a, b, c) return a == b, b == c, a == c, a.v, b.v end)
  local p, q, r = { v = 1 }, { v = 2 }, { v = 3 }
  return function() return { f(p, q, r) }, { f(p, p, r) }, { f(p, q, q) }, { f(p, q, p) }, { f(p, p, p) }, { f(q, p, r) } end
end)
case("tables that grow and shrink", function(C)
  local f = C(function(l) local n = 0 for _, v in pairs(l) do n = n + v end return #l, n, next(l) end)
  return function()
    local l, r = {}, {}
    for i, k in ipairs { 1, 2, "a", "b" } do r[i] = { f(l) } l[k] = i end
    l[1], l.a = nil, nil
    return r, f(l)
  end
end)
case("missing, nil and many arguments", function(C)
  local f, g = C(function(a, b, c) return a, b, c, c == nil end), C(function(...) return select("#", ...), (select(-1, 0, ...)) end)
  return function()
    local list = {}
    for i = 1, 5000 do list[i] = i end
    return table.pack(f()), table.pack(f(nil, nil, nil, 4)), table.pack(f(nil, 2)), { g() }, { g(nil, nil) }, { g(table.unpack(list)) }
  end
end)
case("more results than are compiled", function(C)
  local f = C(function(n) local t = {} for i = 1, n do t[i] = x + i end return table.unpack(t) end)
  return function() return select("#", f(250)), (select(250, f(250))), select("#", f(300)) end
end)
case("side effects before an error", function(C)
  local t = { n = 0 }
  local f = C(function() t.n = t.n + 1 return x + tb.ones(7) end)
  return function() return { pcall(f) }, t.n end
end)
case("globals and upvalues assigned", function(C)
  local n = 0
  local f = C(function(v) HOSTILE_GLOBAL = (HOSTILE_GLOBAL or 0) + v n = n + v return HOSTILE_GLOBAL, n end)
  return function() HOSTILE_GLOBAL = nil return { f(1) }, { f(2) }, n, HOSTILE_GLOBAL end
end)

-- recursion
case("deep and endless recursion", function(C)
  local function count(n) if n == 0 then return 0 end return 1 + count(n - 1) end
  local function endless(n) return 1 + endless(n + 1) end
  local function tail(n) if n == 0 then return "end" end return tail(n - 1) end
  local f, g = C(function(n) return count(n), x + 1 end), C(function() return endless(1) end)
  local h = C(function(n) return tail(n) end)
  return function()
    -- A finalizer that Lua runs where its stack is full fails, and is not run again: none may fall there, or its tensor is lost.
    collectgarbage()
    collectgarbage "stop"
    local ok, message = pcall(g)
    local short, long, last = { f(500) }, { f(20000) }, h(100000)
    collectgarbage "restart"
    return short, long, ok, message:match("stack overflow"), last
  end
end)
case("compiled functions that call one another", function(C)
  local even, odd
  even = C(function(n) if n == 0 then return true end return odd(n - 1) end)
  odd = C(function(n) if n == 0 then return false end return even(n - 1) end)
  return function() return even(10), even(63), even(64), odd(100) end
end)

-- strings, conversions, errors
case("strings as numbers", function(C)
  return C(function(s) return s + 1, s * "2", "10" / s, x * (s + 0), #s, s .. 1, tonumber(s), s < "5", s // 1, "3" | 1, "0x10" & 0xff end), "3"
end)
for name, f in pairs {
  ["arithmetic"] = function() return "abc" + 1 end, ["comparison"] = function() return "1" < 2 end, ["bits"] = function() return 2.5 | 1 end,
  ["field of nil"] = function() local t = {} return t.a.b end, ["call of nil"] = function() return nothing_here(1) end,
  ["nil key"] = function() local t = {} t[nil] = 1 end, ["NaN key"] = function() local t = {} t[0 / 0] = 1 end,
  ["division by zero"] = function() return 1 // 0 end, ["loop bound"] = function() for _ = 1, "x" do end end, ["loop step"] = function() for _ = 1, 2, 0 do end end,
  ["concat"] = function() return table.concat { 1, {}, 3 } end, ["format"] = function() return ("%d"):format(1.5) end, ["error"] = function() error("m") end,
  ["error without a place"] = function() error("m", 0) end, ["error with a table"] = function() error({ 1 }) end, ["error of nil"] = function() error() end,
  ["assert"] = function() assert(nil, "mine") end, ["select"] = function(...) return select(-5, ...) end, ["huge text"] = function() return ("x"):rep(1 << 60) end,
} do
  case("error: " .. name, function(C) return C(f), 1, 2 end)
end
case("strings with zeros", function(C)
  return C(function(k) return #k, k == "a\0b", k:byte(2), ({ ["a\0b"] = 5 })[k], k .. "\0", ({ ["1"] = "s", [1] = "i" })["1"] end), "a\0b"
end)
case("integers that wrap", function(C)
  return C(function(m, n) return m + 1 == n, m * 2, -n, n // -1, n % -1, 1 << 63, 1 << 64, 5 // 0.0, -5 % math.huge, 2 ^ 53 | 0 end), math.maxinteger, math.mininteger
end)
case("an environment of its own", function(C) return C(function(v) local _ENV = { v = v } y = 5 return y, v end), 3 end)
case("what is read by C functions", function(C)
  local f = C(function() return math.random(1000) end)
  return function() math.randomseed(5) return f(), f(), type(os.time()), load("return 1 + 1")() end
end)
