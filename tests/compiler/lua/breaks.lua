-- Graph breaks and what goes on behind them: plain and compiled give the same results, effects, errors and lines, and the pieces
-- before and after a break are compiled. Run by test_lua_breaks.c with the name of a part.
local part, tests = ...
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local parts = {}

local note, taken = plain.recorder()

local check = plain.breaking(taken)

local function expect(stats, graphs, breaks)
  if stats.graphs ~= graphs or #stats.breaks ~= breaks or stats.eager then
    error(("%d graphs, %d breaks%s; expected %d and %d: %s"):format(stats.graphs, #stats.breaks, stats.eager and ", eager" or "", graphs, breaks,
      table.concat(stats.fallbacks, "; ")), 2)
  end
end

local x = tb.tensor({ 1.5, -2 }, { dtype = "f32" })

-- What PyTorch's documentation says of its own.
function parts.textbook()
  expect(check("in the middle", function()
    return function(v)
      local y = v * 2
      note("middle", y)
      return y + 1
    end, x
  end), 2, 1)
  local function branch(v)
    if v:sum():item() > 0 then return v * 2 end
    return v - 1
  end
  check("a branch on a value, one side", function() return branch, x end)
  check("the other", function() return branch, -x end)
  local f = tb.compile(branch)
  assert(plain.describe(f(x)) == plain.describe(branch(x)) and plain.describe(f(-x)) == plain.describe(branch(-x)))
  local message = plain.raises(function() return tb.compile(branch, { fullgraph = true })(x) end, "graph break", "breaks.lua:", "hint")
  assert(message:match(":(%d+): graph break") == tostring(debug.getinfo(branch, "S").linedefined + 1), message)
end

function parts.control()
  check("a loop with a break in each turn", function()
    return function(v, n)
      local sum = v
      for i = 1, n do
        sum = sum + i
        note(i, sum)
      end
      return sum, n
    end, x, 6
  end)
  check("while, goto, repeat", function()
    return function(v, n)
      local i = 0
      while i < n do
        i = i + 1
        if i == 2 then goto continue end
        note(i)
        v = v * 2
        ::continue::
      end
      repeat
        local done = i <= 0
        note("again", i)
        i = i - 2
      until done
      return v, i
    end, x, 4
  end)
  check("generic for", function()
    return function(v, list)
      for k, e in ipairs(list) do
        note(k, e)
        v = v + e
      end
      for k, e in pairs { 3 } do v = v * e note(k) end
      return v
    end, x, { 1, 2, 3 }
  end)
  check("conditions as values", function()
    return function(v, a, b)
      local c = a and note(a) or b
      local d = note(c) == nil
      local e = not note(d)
      return v, c, d, e, a or note("never"), b and v + 1
    end, x, false, 3
  end)
  check("float loops", function()
    return function(v)
      for i = 1, 2, 0.5 do note(i) v = v + i end
      for i = 3, 1, -1 do note(i) v = v * i end
      for i = 1, 0 do note("never", i) end
      return v
    end, x
  end)
end

function parts.frames()
  check("variable arguments", function()
    return function(v, ...)
      note(...)
      local n = select("#", ...)
      note(n)
      return v * n, ...
    end, x, 1, nil, "three", nil
  end)
  check("open results", function()
    local function two(a) return a, a + 1 end
    local function pass(...) note("pass") return ... end
    return function(v, ...)
      local list = { pass(1, 2, two(3)) }
      note(pass(two(v)))
      note(two(two(1)))
      return #list, list, pass(..., two(v))
    end, x, 8, 9
  end)
  check("tail calls", function()
    local function last(v, n)
      note(n)
      return v + n
    end
    return function(v, n)
      note("first")
      return last(v * 2, n)
    end, x, 5
  end)
  check("breaks in callees, and levels", function()
    local function inner(v, n)
      local y = v + n
      note("inner", y)
      if n == 3 then error("three at the caller", 2) end
      if n == 4 then error("four here") end
      return y * 2, n
    end
    return function(v)
      local a, b = inner(v, 1)
      local c = inner(a, 2) + b
      local ok, message = pcall(inner, c, 4)
      return a, c, ok, message, (inner(c, 3))
    end, x
  end)
  check("recursion", function()
    local function down(v, n)
      if n == 0 then return v end
      note(n)
      return down(v + 1, n - 1) + n
    end
    return down, x, 5
  end)
  check("methods and globals", function()
    local object = { scale = 3 }
    function object:grow(v) note(self.scale) return v * self.scale end
    return function(v)
      LIST = LIST or {}
      LIST[#LIST + 1] = #LIST
      local r = object:grow(v)
      note(#LIST)
      LIST = nil
      return r
    end, x
  end)
end

function parts.errors()
  local function with(f) return function() return f, x, {} end end
  check("global", with(function(v) note(1) return v + nothing_here(v) end))
  check("field", with(function(v, t) note(1) return t.missing.field end))
  check("method", with(function(v, t)
    note(1)
    return t:missing()
  end))
  check("local", with(function(v, t)
    local name = v * 2
    note(name)
    local nothing
    return name + nothing.x
  end))
  check("upvalue and arithmetic", (function()
    local upper
    return with(function(v, t)
      note(1)
      local sum = v:sum()
      return upper + 1, sum
    end)
  end)())
  check("comparison and concatenation", with(function(v, t)
    note(1)
    if t < 1 then return v end
  end))
  check("concatenation", with(function(v, t) note(1) return "a" .. t end))
  check("for", with(function(v, t) note(1) for i = 1, t do v = v + i end return v end))
  check("shapes", with(function(v)
    note(1)
    local y = v * 2
    return y:view(7)
  end))
  check("error with a table", with(function(v, t) note(1) error(t) end))
  check("assert", with(function(v) note(1) assert(false, "said") end))
end

function parts.closures()
  check("a captured local that does not change", function()
    return function(v, n)
      local w = v * n
      local function f(a) return a + w end
      note(w)
      local r = f(v)
      note(r)
      return r, f(w)
    end, x, 3
  end)
  check("one that changes", function()
    return function(v, n)
      local count = 0
      local function up() count = count + n return count end
      note(up())
      v = v + up()
      note(count)
      count = 10
      return v, up(), count
    end, x, 2
  end)
  check("fresh ones in each turn", function()
    return function(v)
      local list = {}
      for i = 1, 3 do
        local j = i
        list[i] = function() j = j + 1 return j end
        note(i)
      end
      return v + list[1]() + list[1]() + list[3]()
    end, x
  end)
  check("upvalues outside", function()
    local total = 0
    return function(v)
      note(total)
      total = total + 1
      note(total)
      return v + total
    end, x
  end)
  check("to be closed", function()
    return function(v)
      local y = v + 1
      note("open")
      local guard <close> = setmetatable({}, { __close = function() note("closed") end })
      note("inside")
      y = y * 2
      return y
    end, x
  end)
end

function parts.running()
  -- nothing nests: a loop with a break in each turn goes on for long
  local turns = 20000
  local f = tb.compile(function(v, n)
    local level = 0
    for i = 1, n do level = math.max(level, select(2, debug.traceback():gsub("\n", ""))) end
    return v + 1, level
  end)
  local _, level = f(x, turns)
  assert(level < 20, level)
  -- yields
  local co = coroutine.wrap(tb.compile(function(v)
    local y = v * 2
    local got = coroutine.yield(y)
    return y + got
  end))
  assert(plain.describe(co(x)) == plain.describe(x * 2))
  assert(plain.describe(co(5)) == plain.describe(x * 2 + 5))
  -- what nothing names any more is collected behind a break as well
  local kept = {}
  for at = 1, 9 do
    local weak = setmetatable({}, { __mode = "v" })
    local f = tb.compile(function(v)
      weak.kept = kept
      weak.gone = {}
      collectgarbage()
      return v, weak.kept == kept, weak.gone == nil
    end, { backend = "eager", options = { break_at = at } })
    for _ = 1, 2 do
      local _, is_kept, is_gone = f(x)
      assert(is_kept and is_gone, at)
    end
  end
  -- reset in the middle
  local g
  g = tb.compile(function(v, again)
    local y = v + 1
    if again then tb.reset(g) g(v, false) end
    return y * 2
  end)
  assert(plain.describe(g(x, true)) == plain.describe((x + 1) * 2))
  assert(plain.describe(g(x, false)) == plain.describe((x + 1) * 2))
  collectgarbage()
end

-- What each turn reads from a tensor and gives to the next one stays open: a few graphs serve any length.
function parts.generation()
  local nn = tb.nn
  tb.manual_seed(3)
  local embedding, norm, head = nn.Embedding(50, 16), nn.LayerNorm(16), nn.Linear(16, 50)
  local function generate(ids, n)
    for i = 1, n do
      local logits = head(norm(embedding(ids)))
      local next_id = logits[-1]:argmax(-1):item()
      ids = tb.cat({ ids, tb.tensor({ next_id }) }, 1)
    end
    return ids
  end
  for _, backend in ipairs { "eager", "inductor" } do
    local f = tb.compile(generate, { backend = backend })
    for _, start in ipairs { { 3, 7, 1 }, { 2, 2 }, { 49, 5, 1, 1, 8 } } do
      local ids = tb.tensor(start)
      assert(plain.describe(f(ids, 20)) == plain.describe(generate(ids, 20)), backend)
    end
    local stats = tb.stats(f)
    assert(stats.entries <= 6 and not stats.eager and #stats.fallbacks == 0, ("%s: %d entries; %s"):format(backend, stats.entries, table.concat(stats.fallbacks, "; ")))
  end
  -- numbers as values: of either kind, alone or in lists, with a dtype, beside tensors
  local g = tb.compile(function(v, i, s)
    return tb.tensor(s), tb.tensor({ i, 2, i + 1 }), tb.tensor({ i, s }), tb.tensor({ i, s * 2 }, { dtype = "f64" }), v * i, s - v, v:long() + i, tb.maximum(v, s)
  end)
  local function h(v, i, s)
    return tb.tensor(s), tb.tensor({ i, 2, i + 1 }), tb.tensor({ i, s }), tb.tensor({ i, s * 2 }, { dtype = "f64" }), v * i, s - v, v:long() + i, tb.maximum(v, s)
  end
  for i = -2, 9 do
    local want, got = plain.describe_all(table.pack(h(x, i, i / 4))), plain.describe_all(table.pack(g(x, i, i / 4)))
    assert(want == got, want .. "\n" .. got)
  end
  assert(tb.stats(g).entries == 2, tb.stats(g).entries)
end

parts[part]()
