-- Numbers that change between calls, through functions and as indices: they stay open. And what tb.disable keeps plain. Run by
-- test_lua_open_numbers.c with the name of a part.
local part, tests = ...
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local parts = {}

local entries, same = plain.entries, plain.same

-- Pure functions of numbers that change stay open, and give Lua's own bits.
function parts.functions()
  local names = { "sin", "cos", "tan", "asin", "acos", "atan", "exp", "log", "sqrt", "deg", "rad" }
  for _, name in ipairs(names) do
    local fn = math[name]
    local function g(x, a) return x * fn(a / 10), fn(a), fn(a / 7) * 2 end
    local f = tb.compile(g, { backend = "eager" })
    local one = tb.ones(2)
    for step = 1, 40 do
      local _, got, scaled = f(one, step % 3 == 0 and -step or step / 3)
      local _, want, doubled = g(one, step % 3 == 0 and -step or step / 3)
      assert(string.pack("dd", got, scaled) == string.pack("dd", want, doubled) or got ~= got, name)
      same(f, g, one, step / 40)
    end
    assert(entries(f) <= 4 and not tb.stats(f).eager, name .. ": " .. entries(f)) -- integers, floats, and the first of each
  end
  local function two(x, a, b) return x * math.log(a, b), math.log(a, 2), math.log(a, 10), math.atan(a, b), math.atan(-a), math.log(a, 8) end
  local f = tb.compile(two, { backend = "eager" })
  for step = 1, 30 do
    local got, want = table.pack(f(tb.ones(1), step / 2, step + 1.5)), table.pack(two(tb.ones(1), step / 2, step + 1.5))
    for i = 2, 6 do assert(string.pack("d", got[i]) == string.pack("d", want[i])) end
    same(f, two, tb.ones(1), step / 2, ({ 2.0, 10.0, 3.5 })[step % 3 + 1])
  end
  assert(entries(f) == 3, entries(f)) -- fixed, b alone open, both
  -- as schedules use them, with the full back end
  local function schedule(x, step)
    local rate = 0.5 * (1 + math.cos(math.pi * math.min(step, 100) / 100))
    return x * rate + math.sqrt(1 - math.exp(-step / 10)), math.floor(rate * 10)
  end
  local s = tb.compile(schedule)
  for step = 1, 30 do same(s, schedule, tb.ones(3), step) end
  assert(entries(s) == 2, entries(s))
end

-- An index from the end that changes stays open as one from the front does.
function parts.indices()
  local function g(x, i) return x[-i] * 2, x:select(1, i) end
  for _, backend in ipairs(plain.backends) do
    local f, x = tb.compile(g, { backend = backend }), tb.randn { 12, 3 }
    for i = 2, 12 do same(f, g, x, i) end
    assert(entries(f) == 2, entries(f))
    same(f, g, x, 1)
    assert(not pcall(f, x, 13) and not pcall(f, x, 0))
  end
  local h = tb.compile(function(x, i) return x[i] end)
  local x = tb.randn { 9 }
  for i = 2, 9 do assert(h(x, -i):item() == x[-i]:item()) end
  assert(entries(h) == 2, entries(h))
end

-- All that a function of disable calls runs plain, also what was compiled; until it ends, by whatever way.
function parts.disabled()
  local ran
  local function g(x) ran = tb.is_compiling() return x * 2 end
  local function plainly(f, ...) ran = "?" f(...) return ran == false end
  local compiled = tb.compile(g, { backend = "eager" })
  local x = tb.ones(2)
  assert(tb.disable(compiled)(x)[1]:item() == 2 and entries(compiled) == 0)
  assert(not plainly(compiled, x) and plainly(tb.disable(compiled), x) and entries(compiled) == 1)
  local inner = tb.compile(function(y) return compiled(y) + 1 end, { backend = "eager" })
  assert(plainly(tb.disable(function(y) return (inner(y)) end), x) and entries(inner) == 0)
  -- nested, with an error on the way, and out of a coroutine
  local twice = tb.disable(tb.disable(compiled))
  assert(plainly(twice, x) and not plainly(compiled, x))
  assert(not pcall(tb.disable(function() compiled(x) error("said") end)) and not plainly(compiled, x))
  local steps = {}
  local co = coroutine.wrap(tb.disable(function() steps[1] = plainly(compiled, x) coroutine.yield() steps[2] = plainly(compiled, x) end))
  co()
  assert(steps[1] and not plainly(compiled, x)) -- elsewhere, while it waits
  co()
  assert(steps[2] and not plainly(compiled, x))
  assert(select("#", tb.disable(function(...) return ... end)(nil, 2, nil)) == 3)
  -- behind a graph break, and of a callable table
  local outer = tb.compile(function(y) local z = tb.disable(compiled)(y) return z + 1 end, { backend = "eager" })
  assert(outer(x)[1]:item() == 3)
  assert(plainly(tb.disable(setmetatable({}, { __call = function(_, y) return compiled(y) end })), x))
end

parts[part]()
