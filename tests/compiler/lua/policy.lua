-- When compiled functions compile: changing shapes and numbers, several entries, stances, limits, what keeps functions out of graphs
-- or whole in them. Run by test_lua_policy.c with the name of a part.
local part, tests = ...
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local parts = {}

local entries, same = plain.entries, plain.same
-- Calls f with tensors of these first sizes; the number of entries afterwards.
local function with_batches(f, g, ...)
  for _, n in ipairs { ... } do same(f, g, tb.randn { n, 4 }) end
  return entries(f)
end

-- A changed batch size compiles at most once more under nil, never under true; 0 and 1 are specialised.
function parts.shapes()
  local function g(x) return (x * 2 + 1):sum { dim = 2 }, x:size(1) * 3, x:reshape(-1) end
  for _, backend in ipairs(plain.backends) do
    local auto = tb.compile(g, { backend = backend })
    assert(with_batches(auto, g, 8) == 1 and with_batches(auto, g, 5) == 2 and with_batches(auto, g, 2, 64, 7, 1000, 8) == 2)
    assert(with_batches(auto, g, 1) == 3 and with_batches(auto, g, 0) == 4 and with_batches(auto, g, 1, 0, 31) == 4)
    local always = tb.compile(g, { backend = backend, dynamic = true })
    assert(with_batches(always, g, 8, 5, 2, 64, 7, 1000) == 1 and with_batches(always, g, 1, 9) == 2)
    same(always, g, tb.randn { 6, 9 }) -- another size varies too
    assert(entries(always) == 2)
    local never = tb.compile(g, { backend = backend, dynamic = false })
    assert(with_batches(never, g, 8, 5, 2, 8) == 3)
  end
  -- sizes in Lua's hands: arithmetic, branches, loops
  local function h(x)
    local n = x:size(1)
    if n > 100 then return x * 2 end
    return x:narrow(1, 1, n // 2) + n % 3, (n + 1) * 2 - n
  end
  local f = tb.compile(h)
  for _, n in ipairs { 10, 12, 30, 51, 99 } do same(f, h, tb.randn { n, 2 }) end
  local small = entries(f)
  for _, n in ipairs { 200, 300 } do same(f, h, tb.randn { n, 2 }) end
  assert(entries(f) <= small + 1 and small <= 4, small)
end

-- Numbers that change at each call become expressions or inputs of the graph.
function parts.scalars()
  local function g(x, step, rate) return x * rate + step, step + 1, step % 2 == 2 end
  for _, backend in ipairs(plain.backends) do
    local f = tb.compile(g, { backend = backend })
    for step = 1, 12 do same(f, g, tb.ones(3), step, 1 / step) end
    assert(entries(f) == 2 and not tb.stats(f).eager, entries(f))
    local always = tb.compile(g, { backend = backend, dynamic = true })
    for step = 1, 12 do same(always, g, tb.ones(3), step, 1 / step) end
    assert(entries(always) == 1, entries(always))
    local never = tb.compile(g, { backend = backend, dynamic = false })
    for step = 1, 3 do same(never, g, tb.ones(3), step, 1 / step) end
    assert(entries(never) == 3)
  end
  -- an upvalue, a global and a field change as well as arguments do
  local upper, state = 0, { rate = 0.5 }
  COUNT = 0
  local function h(x) return x * state.rate + upper + COUNT end
  local f = tb.compile(h)
  for i = 1, 9 do
    upper, state.rate, COUNT = upper + 1, state.rate * 0.9, COUNT + 2
    same(f, h, tb.ones(2))
  end
  assert(entries(f) == 2, entries(f))
  COUNT = nil
  -- an integer becomes a float: another kind is another entry
  local k = tb.compile(function(x, a) return x + a end)
  k(tb.ones(1), 1) k(tb.ones(1), 2) k(tb.ones(1), 3)
  assert(entries(k) == 2)
  assert(k(tb.ones(1), 0.5):item() == 1.5 and entries(k) == 3)
  -- integers and floats in turn: one entry for each kind behind the first
  local function mixed(x, a) return x * a, a end
  local m = tb.compile(mixed)
  for i = 1, 12 do same(m, mixed, tb.ones(2), i % 2 == 0 and i or i + 0.5) end
  assert(entries(m) == 3 and not tb.stats(m).eager, entries(m))
  -- an integer as an index
  local function indexed(x, i) return x[i] * 2, x[i + 1] end
  local d, matrix = tb.compile(indexed), tb.randn { 14, 3 }
  for i = 1, 12 do same(d, indexed, matrix, i) end
  assert(entries(d) == 2, entries(d))
  plain.raises(function() d(matrix, 14) end, "policy.lua:", "14")
  plain.raises(function() d(matrix, 1.5) end, "policy.lua:")
  same(d, indexed, matrix, -3)
  -- an integer as a size
  local function sized(x, n) return x:narrow(1, 1, n):sum(), tb.ones(n) end
  local s = tb.compile(sized)
  for n = 2, 8 do same(s, sized, tb.randn(9), n) end
  assert(entries(s) <= 3, entries(s))
end

function parts.marks()
  local function g(x) return x * 2 end
  local f = tb.compile(g)
  local function marked(n, dim)
    local x = tb.randn { n, 4 }
    tb.mark_dynamic(x, dim)
    return x
  end
  same(f, g, marked(8, 1))
  assert(with_batches(f, g, 5, 9, 2) == 1, "a marked size compiled again")
  local both = tb.compile(g)
  same(both, g, marked(8, { 1, -1 }))
  same(both, g, tb.randn { 3, 7 })
  assert(entries(both) == 1)
  local last = tb.compile(g)
  same(last, g, marked(8, -1))
  same(last, g, tb.randn { 8, 9 })
  assert(entries(last) == 1)
  -- the mark is the object's own
  local never = tb.compile(g, { dynamic = false })
  same(never, g, marked(8, 1) + 1)
  same(never, g, tb.randn { 9, 4 })
  assert(entries(never) == 2)
  local x = tb.randn { 3, 1 }
  plain.raises(function() tb.mark_dynamic(x, 2) end, "policy.lua:", "mark_dynamic: dimension 2 has size 1", "specialised")
  plain.raises(function() tb.mark_dynamic(tb.ones { 0, 2 }, 1) end, "dimension 1 has size 0", "specialised")
  plain.raises(function() tb.mark_dynamic(x, 3) end, "dimension 3 is outside of a tensor of 2 dimensions")
  plain.raises(function() tb.mark_dynamic(x, 0) end, "dimension 0 is outside")
  plain.raises(function() tb.mark_dynamic(x, {}) end, "empty list")
  plain.raises(function() tb.mark_dynamic(x, "1") end, "must be an integer, got string '1'")
  plain.raises(function() tb.mark_dynamic(x) end, "must be an integer, got nil")
  plain.raises(function() tb.mark_dynamic(5, 1) end, "argument 1 is no tensor")
  -- what the code fixes cannot be marked
  for name, fixed in pairs {
    loop = function(v) for _ = 1, v:size(1) do v = v + 1 end return v end,
    equal = function(v) if v:size(1) == 8 then return v end return v * 2 end,
    shape = function(v) return v + tb.ones { 8, 4 } end,
  } do
    plain.raises(function() tb.compile(fixed)(marked(8, 1)) end, "dimension 1 of v is specialised to 8", "mark_dynamic")
    same(tb.compile(fixed), fixed, tb.randn { 8, 4 }, name)
  end
end

-- Ten entries: each is found, whatever the order; a reset in a call that runs, and the collector, leave nothing behind.
function parts.entries()
  local modes = {}
  for i = 1, 10 do modes[i] = "mode " .. i end
  local function g(x, mode)
    for i = 1, 10 do
      if mode == modes[i] then return x * i, mode end
    end
  end
  local f = tb.compile(g, { options = { recompile_limit = 12 } })
  local x = tb.randn(3)
  for _ = 1, 3 do
    for i = 1, 10 do same(f, g, x, modes[i]) end
    for i = 10, 1, -3 do same(f, g, x, modes[i]) end
  end
  assert(entries(f) == 10, entries(f))
  local before = tb.counters().guard_failures
  for i = 1, 10 do f(x, modes[i]) end
  assert(tb.counters().guard_failures == before, "entries are tried one after the other")
  same(f, g, x, "another")
  assert(entries(f) == 11)
  tb.reset(f)
  assert(entries(f) == 0)
  same(f, g, x, modes[4])
  assert(entries(f) == 1)
  -- nothing tells them apart by one value: dtypes and the number of arguments
  local function any(...) return select("#", ...), (...) end
  local h = tb.compile(any)
  for _ = 1, 2 do
    same(h, any)
    same(h, any, 1, 2)
    same(h, any, x)
    same(h, any, x:to { dtype = "f64" }, nil)
  end
  collectgarbage()
  same(h, any, x)
end

function parts.stances()
  local x, y = tb.ones(3), tb.ones(4)
  local function g(v) return v * 2, tb.is_compiling() end
  local function compiled(f, v) return select(2, f(v)) end
  assert(tb.get_stance() == "default" and not tb.is_compiling())
  local f = tb.compile(g)
  do
    local _ <close> = tb.set_stance "force_eager"
    assert(tb.get_stance() == "force_eager" and not compiled(f, x) and entries(f) == 0)
  end
  assert(tb.get_stance() == "default" and compiled(f, x) and entries(f) == 1)
  do
    local _ <close> = tb.set_stance "force_eager"
    assert(not compiled(f, x))
  end
  do
    local _ <close> = tb.set_stance "eager_on_recompile"
    assert(compiled(f, x) and not compiled(f, y) and not compiled(f, y) and entries(f) == 1)
  end
  do
    local _ <close> = tb.set_stance "fail_on_recompile"
    assert(compiled(f, x))
    plain.raises(function() f(y) end, "fail_on_recompile", "v")
    plain.raises(function() tb.compile(g)(x) end, "fail_on_recompile", "nothing is compiled yet")
    assert(entries(f) == 1)
  end
  pcall(function()
    local _ <close> = tb.set_stance "force_eager"
    error("x")
  end)
  assert(tb.get_stance() == "default", "an error leaves the stance")
  -- without <close>: until it is set again, or called
  local back = tb.set_stance "force_eager"
  tb.set_stance "fail_on_recompile"
  assert(tb.get_stance() == "fail_on_recompile")
  back()
  assert(tb.get_stance() == "default")
  plain.raises(function() tb.set_stance "eager" end, "set_stance: argument 1 must be one of default, force_eager", "string 'eager'")
  plain.raises(function() tb.set_stance() end, "got nil")
end

-- The second call is compiled, open for what differs from the first.
function parts.eager_then_compile()
  local _ <close> = tb.set_stance "eager_then_compile"
  local function g(v, step) return v * step + 1, tb.is_compiling() end
  local f = tb.compile(g)
  local function call(n, step)
    local got, compiled = f(tb.ones(n), step)
    assert(plain.describe(got) == plain.describe((g(tb.ones(n), step))))
    return compiled
  end
  assert(not call(8, 1) and entries(f) == 0)
  assert(call(5, 2) and entries(f) == 1)
  for n = 2, 9 do assert(call(n, n * 3)) end
  assert(entries(f) == 1, "what differs in the second call was not learnt")
  tb.reset(f)
  assert(not call(8, 1) and call(8, 1) and entries(f) == 1)
  -- what differs before a graph break is learnt too, and what goes on behind it is compiled in the second call
  local h = tb.compile(function(v)
    local w = v * 2
    local first = tb.is_compiling()
    io.stdout:seek()
    return w + 1, first, tb.is_compiling()
  end)
  local function both(n) return select(2, h(tb.ones(n))) end
  local a, b = both(4)
  assert(not a and not b)
  a, b = both(6)
  assert(a and b)
  local count = entries(h)
  a, b = both(7)
  assert(a and b and tb.stats(h).recompiles <= 1, tb.stats(h).recompiles)
  assert(entries(h) <= count + 1)
  -- dynamic=false learns nothing
  local fixed = tb.compile(function(v) return v * 2 end, { dynamic = false })
  fixed(tb.ones(4)) fixed(tb.ones(5)) fixed(tb.ones(6))
  assert(entries(fixed) == 2)
end

-- An object over its limit runs plain, says so once, and recovers by a reset. Pieces count for themselves.
function parts.limits()
  local function g(x, s) return x * 2, s .. s, tb.is_compiling() end -- (a text that is only handed on is not guarded)
  local f = tb.compile(g, { options = { recompile_limit = 3 } })
  local x = tb.ones(2)
  local function call(s)
    local got, text, compiled = f(x, s)
    assert(got[1]:item() == 2 and text == s .. s)
    return compiled
  end
  assert(call "a" and call "b" and call "c" and not tb.stats(f).eager)
  assert(not call "d" and not call "e" and not call "a" and tb.stats(f).eager)
  local said = 0
  for _, text in ipairs(tb.stats(f).fallbacks) do
    if text:find("recompile_limit", 1, true) then said = said + 1 end
  end
  assert(said == 1, said)
  tb.reset(f)
  assert(call "d" and call "e" and not tb.stats(f).eager and entries(f) == 2 and #tb.stats(f).fallbacks == 0)
  assert(call "g" and not call "h")
  tb.reset()
  assert(call "h" and not tb.stats(f).eager)
  plain.raises(function() tb.reset(g) end, "reset: argument 1 is not a compiled function")
  -- the piece behind a break is at its limit; what comes before it is not
  local texts = { "a", "b", "c", "d" }
  local h = tb.compile(function(v, i)
    local before = tb.is_compiling()
    local w = v + 1
    io.stdout:seek()
    local s = texts[1]
    return w, s .. s, before
  end, { options = { recompile_limit = 2 } })
  for i = 1, 4 do
    texts[1] = texts[i]
    local w, s, before = h(x, 0)
    assert(w[1]:item() == 2 and s == texts[1] .. texts[1] and before)
  end
  assert(tb.stats(h).eager, "no piece is at its limit")
end

function parts.kept_out()
  local x = tb.tensor { 1.0, -2.0 }
  local function inner(v) return v + (tb.is_compiling() and 100 or 1) end
  local f = tb.compile(function(v) return tb.disable(inner)(v) * 2 end)
  local off = tb.disable(inner)
  local g = tb.compile(function(v) return off(v * 2) * 2 end)
  assert(g(x)[1]:item() == 6)
  assert(tb.stats(g).breaks[1].name == "DISABLED" and tb.stats(g).graphs == 2)
  assert(f(x)[1]:item() == 4)
  plain.raises(function() tb.compile(function(v) return off(v) end, { fullgraph = true })(x) end, "tb.disable")
  plain.raises(function() tb.disable(5) end, "disable: argument 1 must be a function", "number 5")
  assert(select("#", tb.disable(function(...) return ... end)(nil, nil)) == 2)
end

-- A function of allow_in_graph is captured whole: a break inside is an error, also without fullgraph.
function parts.allowed()
  local x = tb.tensor { 1.0, -2.0 }
  local scale = tb.allow_in_graph(function(v, n, ...)
    for _ = 1, n do v = v * 2 end
    return v, ...
  end)
  plain.check_captured("inlined", function(C) return C(function(v) return scale(v, 3, "a", nil) end), x end)
  local got, text = scale(x, 1, "b")
  assert(got[1]:item() == 2 and text == "b", "called plainly")
  local breaks = tb.allow_in_graph(function(v)
    local function deep(w) return w:sum():item() end
    return deep(v)
  end)
  local function f(v)
    io.stdout:seek()
    return breaks(v) + 1
  end
  assert(breaks(x) == -1)
  local c = tb.compile(f)
  plain.raises(function() c(x) end, "policy.lua:", "graph break inside of a function of allow_in_graph", "hint")
  local d = tb.compile(function(v)
    local y = scale(v, 1)
    io.stdout:seek()
    return y, (scale(y, 1))
  end)
  assert(d(x)[1]:item() == 2 and tb.stats(d).graphs == 2, "a break outside of it is one like any other")
  -- an error that the function itself raises is its own
  local raising = tb.allow_in_graph(function(v) return v:view(7) end)
  plain.raises(function() tb.compile(function(v) return raising(v) end)(x) end, "view")
  local object = tb.allow_in_graph(setmetatable({ k = 3 }, { __call = function(self, v) return v * self.k end }))
  plain.check_captured("callable table", function(C) return C(function(v) return object(v) end), x end)
  plain.raises(function() tb.allow_in_graph("f") end, "allow_in_graph: argument 1 must be a function", "string 'f'")
end

assert(parts[part], "no such part")()
