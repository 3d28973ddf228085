-- Coroutines that yield inside of compiled functions which break, so that the frame runs eagerly: all that is yielded, passed
-- back, raised and returned must be as in plain Lua. Run by test_lua_yields.c with the name of a part.
local part, tests = ...
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local yield = coroutine.yield
local parts = {}

-- All that comes out of a coroutine over `f`, which is resumed with the number of what came before.
local function trace(f, ...)
  local co, out = coroutine.create(f), {}
  local given = table.pack(coroutine.resume(co, ...))
  while true do
    out[#out + 1] = coroutine.status(co) .. ": " .. plain.describe_all(given)
    if coroutine.status(co) == "dead" then return out end
    given = table.pack(coroutine.resume(co, #out))
  end
end

local function check(name, make)
  plain.check(name, function(C)
    local f = make(C)
    return function(...) return trace(f, ...) end, tb.ones(2)
  end)
end

function parts.levels()
  check("one", function(C) return C(function(x) local a = yield(x + 1) local b = yield(a) return a + b, x end) end)
  check("several", function(C)
    local inner = C(function(v) yield("inner", v) return v * 2 end)
    local middle = C(function(v) local s = inner(v) yield("middle") return inner(s) end)
    return C(function(x) return middle(x), yield(), middle(x + 1) end)
  end)
  check("deep", function(C)
    local f
    f = C(function(n) if n == 0 then yield("bottom") return 0 end return 1 + f(n - 1) end)
    return function() return f(30) end
  end)
  check("a tail call", function(C) return C(function(...) return yield(...) end) end)
  check("many results", function(C)
    local count = C(function(n) for i = 1, n do yield(i) end return table.unpack({ 1, 2, 3 }, 1, n) end)
    return C(function() return select("#", count(3), count(2)), count(1) end)
  end)
  check("a coroutine inside", function(C)
    return C(function() local co = coroutine.wrap(C(function(a) local b = yield(a + 1) return b * 2 end)) return co(1), co(10) end)
  end)
  check("yieldable", function(C) return C(function() return coroutine.isyieldable(), coroutine.running() ~= nil end) end)
end

function parts.errors()
  check("pcall and xpcall", function(C)
    local fails = C(function() yield("before") error("boom") end)
    return C(function(x)
      local ok, message = pcall(fails, x)
      yield(ok, message)
      yield(xpcall(fails, function(m) return "handled " .. m end, x))
      error({})
    end)
  end)
  check("through several", function(C)
    local inner = C(function() yield(1) error("deep") end)
    local middle = C(function() yield(2) return inner() end)
    return C(function() return pcall(function() yield(3) return middle() end) end)
  end)
  check("of tensors", function(C)
    return C(function(x) yield(1) local ok, message = pcall(function() return x + tb.ones(7) end) yield(message) return x + tb.ones(5) end)
  end)
  check("closing", function(C)
    return C(function(x)
      yield(1)
      local guard <close> = setmetatable({}, { __close = function(_, e) yield("closing", e) end })
      yield(2)
      error("closed by")
    end)
  end)
  check("where Lua itself does not yield", function(C)
    return C(function() local t = { 3, 1, 2 } table.sort(t, C(function(a, b) yield(1) return a < b end)) return t end)
  end)
end

function parts.metamethods()
  check("index and operators", function(C)
    local object = setmetatable({}, { __index = C(function(_, k) yield("index " .. k) return 5 end), __add = C(function() yield("add") return 9 end),
      __lt = C(function() yield("less") return true end), __concat = C(function() yield("concat") return "c" end) })
    return C(function() return object.name + (object + 1), object < object, object .. "x" end)
  end)
  check("iterators", function(C)
    local step = C(function(_, i) yield("step") if i < 3 then return i + 1 end end)
    return C(function() local s = 0 for i in step, nil, 0 do s = s + i end return s end)
  end)
  check("callable tables", function(C)
    local object = C(setmetatable({}, { __call = function(self, v) yield(self == nil) return v end }))
    return function(x) return object(x) end
  end)
end

function parts.explain()
  local co = coroutine.wrap(function() return tb.explain(function(x) yield(1) return x end)(tb.ones(1)) end)
  assert(co() == 1)
  assert(co().breaks[1].name == "COROUTINE")
end

assert(parts[part], "no such part")()
