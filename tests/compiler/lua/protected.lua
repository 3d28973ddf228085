-- Closures that a function makes and hands to pcall or xpcall, or calls itself, with a graph break inside: they are compiled, one object for
-- all closures of a code, and mean what they do in plain Lua. Run by test_lua_protected.c with the name of a part.
local part, tests = ...
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local parts = {}

local note, taken = plain.recorder()
local check = plain.breaking(taken)
local x = tb.tensor({ 1.5, -2 }, { dtype = "f32" })

-- The stats tell of so many graphs, and of nothing that was given up but parts of a function that cannot be left.
local function expect(stats, graphs)
  local told = table.concat(stats.fallbacks, "; ")
  assert(not told:find "another function" and not stats.eager, told)
  assert(stats.graphs >= graphs, ("%d graphs, expected %d at least: %s"):format(stats.graphs, graphs, told))
end

-- What the closure captures is only read: nothing runs plain but the breaking instructions.
function parts.readers()
  local stats = check("a local variable", function()
    return function(v)
      local y = v * 2
      local ok, r = pcall(function() local z = y + 1 note(z) return z * 3 end)
      return ok, r - 1
    end, x
  end)
  assert(stats.graphs == 4 and #stats.fallbacks == 0, stats.graphs)
  stats = check("arguments and results", function()
    return function(v, n)
      local a = table.pack(pcall(function(p, ...) local q = p * n note("in", ...) return q, ..., n end, v, 1, nil, "s"))
      local b = table.pack(xpcall(function(...) note(...) return v + n, ... end, debug.traceback, 7, nil))
      return a, b, select("#", pcall(function() note(1) end))
    end, x, 3
  end)
  assert(stats.graphs >= 3 and #stats.fallbacks == 0, stats.graphs)
  stats = check("called by itself", function()
    return function(v)
      local k = v * 2
      local function g(w) local z = w + k note(z) return z * 2 end
      local a = g(v)
      note("between")
      return g(a) - 1
    end, x
  end, 20)
  assert(#stats.fallbacks == 0 and stats.graphs <= 6, stats.graphs)
  check("in tail position", function()
    return function(v, n) return pcall(function(a) note(a) if n == 2 then error { a } end return a + n end, v) end, x, 2
  end)
end

-- Errors have their values, lines and names; what was done before them stays.
function parts.errors()
  local function each(n, v, t, f)
    local done = "nothing"
    local ok, m = pcall(function()
      done = "begun"
      local z = v * 2
      note("in", z)
      t[#t + 1] = z
      done = done .. n
      if n == 1 then error("one") end
      if n == 2 then error("two", 2) end
      if n == 3 then error({ n, z }) end
      if n == 4 then return t.none.x end
      if n == 5 then return z + nothing_here end
      if n == 6 then local s = "s" return s // z end
      if n == 7 then f() end
      if n == 8 then assert(false, "eight") end
      if n == 9 then return z:view(77) end
      done = done .. "!"
      return z, n
    end)
    return done, ok, m, #t
  end
  check("values and lines", function()
    return function(v)
      local all = {}
      for n = 1, 10 do all[n] = table.pack(each(n, v, all)) end
      return all
    end, x
  end)
  check("the function itself", function() local n = 0 return function(v) n = n + 1 return each(n, v, {}) end, x end, 10)
  expect(check("handlers", function()
    return function(v)
      local n, seen = 0, nil
      local ok, m = xpcall(function()
        n = n + 1
        note(n)
        n = n + 1
        local t = nil
        return t.field
      end, function(m)
        seen = n
        note("handler", m)
        return m .. "!"
      end)
      return ok, m, n, seen, v * 2
    end, x
  end), 1)
  check("inside of one another", function()
    return function(v)
      local log = {}
      local ok, m = pcall(function()
        local k = v + 1
        note("outer", k)
        local ok, m = pcall(function() k = k * 2 note("inner", k) error("inner") end)
        log[#log + 1] = k
        k = k + 1
        note(m, k)
        local o2, m2 = pcall(pcall, function() note(k) error(m, 0) end)
        log[#log + 1] = m2
        error({ m, k })
      end)
      return ok, m, log
    end, x
  end)
  check("divisions and lines", function()
    return function(v, z)
      local at = 0
      local a = table.pack(pcall(function()
        at = 1
        note(at)
        at = at + 1 return v.none, 1 // z -- (the line of a division is that of what ran before it, in some releases of Lua)
      end))
      local b = table.pack(pcall(function() note(at)
        at = at + 1
        return at ..
          z .. {}
      end))
      return a, b, at, v * 2
    end, x, 0
  end)
end

-- Variables of the frame that the closure writes are seen behind it, by the frame and by other closures.
function parts.writers()
  expect(check("a result", function()
    return function(v, n)
      local y, r = v * 2, nil
      local ok, m = pcall(function()
        r = y + 1
        note(r)
        r = r * 2
        if n == 2 then error("two") end
        return 5
      end)
      return ok, m, r + 1
    end, x, 2
  end), 2)
  check("in a loop", function()
    return function(v)
      local n, list = 0, {}
      for k = 1, 4 do
        local mine = k
        local ok, m = pcall(function()
          n = n + k
          note(n)
          v = v * 2
          mine = mine + n
          list[k] = function() mine = mine + 1 return mine, n end
          if k == 3 then error("three") end
          n = n + 1
        end)
        mine = mine * 10
        list[k + 10] = mine
        n = n + list[k]()
        if m then note(m) end
      end
      return n, v, list[1](), list[4](), list[11], list[14]
    end, x
  end)
  check("two that share", function()
    return function(v)
      local n = 0
      local function up() n = n + 1 note("up", n) return n end
      local a = table.pack(pcall(function() n = n * 2 note(n) return up() + n end))
      local b = table.pack(pcall(up))
      n = n + 100
      return a, b, up(), n, v + n
    end, x
  end)
  check("recursion", function()
    local function down(v, n)
      local sum = n
      local ok, m = pcall(function()
        sum = sum + 1
        note(n, sum)
        if n > 0 then sum = sum + down(v, n - 1) end
        v = v + sum
        if n == 2 then error("two") end
        sum = sum + n
      end)
      if not ok then note(m) end
      return sum, v
    end
    return down, x, 4
  end)
  check("a scope that closes", function()
    return function(v)
      local n = 0
      local ok, m = pcall(function()
        local guard <close> = setmetatable({}, { __close = function(_, e) n = n + 1 note("closed", e, n) end })
        n = n + 10
        note(n)
        v = v * 2
        error("out")
      end)
      return ok, m, n, v
    end, x
  end)
  check("arguments that jump", function()
    return function(v, c)
      local n = 0
      local a = table.pack(pcall(function(p, q) n = n + 1 note(p, q) return v * n end, c and 1 or 2, n == 0 and v or n))
      local b = table.pack(pcall(c and function() n = n + 2 note("c") return n end or function() n = n + 3 note("not c") return n end))
      return a, b, n
    end, x, false
  end)
end

-- A function under the name of pcall sees the closure itself.
function parts.identity()
  check("another pcall", function()
    local kept = {}
    local function pcall(f, ...) kept[#kept + 1] = f note(#kept, kept[#kept - 1] == f) return true, f(...) end
    return function(v)
      local n = 0
      local ok, r = pcall(function(a) n = n + 1 note(n) return a * n end, v)
      local again = kept[#kept](v)
      return ok, r, again, n, debug.getinfo(kept[#kept], "S").linedefined, select("#", debug.getupvalue(kept[#kept], 1))
    end, x
  end)
  check("a local variable next to pcall", function()
    return function(v)
      local call = pcall
      local f = function() v = v * 2 note("f") return 1 end
      local a = call(f)
      local t = { f, [f] = 2 }
      return a, t[1] == f, t[f], v, pcall(f), v
    end, x
  end)
  -- nothing is kept alive by what is compiled
  local weak = setmetatable({}, { __mode = "v" })
  local function make(v, held)
    local n = 0
    local ok, r = pcall(function() n = n + 1 note(#held) n = n + #held return v * n end)
    return r
  end
  local object = tb.compile(make, { backend = "eager" })
  local function call(k)
    weak[k] = {}
    assert(plain.describe(object(x, weak[k])) == plain.describe(make(x, weak[k])))
  end
  for k = 1, 12 do call(k) end
  assert(not tb.stats(object).eager)
  collectgarbage() collectgarbage()
  assert(next(weak) == nil)
  tb.reset(object)
  for k = 1, 3 do assert(plain.describe(object(x, {})) == plain.describe(make(x, {}))) end
  assert(not tb.stats(object).eager)
  taken()
end

-- Calls that are on the way at once have steps and pieces of their own.
function parts.yields()
  check("coroutines by turns", function()
    local function work(v, n)
      local sum = 0
      local ok, m = pcall(function()
        for i = 1, 3 do
          sum = sum + n
          local got = coroutine.yield(v * sum)
          sum = sum + got
          if got == 12 then error("twelve") end
        end
        return sum
      end)
      return ok, m, sum
    end
    return function(v)
      local all, results = {}, {}
      for n = 1, 3 do all[n] = coroutine.create(work) results[n] = { coroutine.resume(all[n], v, n) } end
      for turn = 1, 3 do
        for n = 3, 1, -1 do results[#results + 1] = table.pack(coroutine.resume(all[n], turn * 10 + n)) end
      end
      note(#results)
      return results
    end, x
  end)
  local function work(v, n)
    local sum = 0
    local ok, m = pcall(function() for i = 1, 3 do sum = sum + n sum = sum + coroutine.yield(v * sum) end return sum end)
    return ok, m, sum
  end
  local function turns(f)
    local all, results = {}, { n = 0 }
    for n = 1, 3 do all[n] = coroutine.create(f) end
    for turn = 0, 3 do
      for n = 3, 1, -1 do results[#results + 1] = plain.describe_all(turn == 0 and table.pack(coroutine.resume(all[n], x, n)) or table.pack(coroutine.resume(all[n], turn * 10 + n))) end
    end
    return table.concat(results, "\n")
  end
  local object = tb.compile(work, { backend = "eager", options = { recompile_limit = 64 } })
  for _ = 1, 4 do assert(turns(object) == turns(work)) end
  assert(not tb.stats(object).eager)
end

-- Code that is new in each call is not compiled for ever; closures of one code are compiled as one, wherever they come from.
function parts.strangers()
  local function describe(f, ...) return plain.describe_all(table.pack(f(...))) end
  local function with(v, f) local y = v + 1 note("made") return f(y) * 2 end
  local object = tb.compile(with, { backend = "eager", options = { recompile_limit = 2 } })
  for n = 1, 60 do
    local f = load(("local note = ... return function(w) note('in') return w * %d end"):format(n))(note)
    assert(describe(object, x, f) == describe(with, x, f))
  end
  local stats = tb.stats(object)
  assert(#stats.fallbacks == 1 and stats.fallbacks[1]:find("another function is called in each call", 1, true), stats.fallbacks[1])
  local function arguments(f)
    for n = 1, 40 do
      local g = function(w) note(n) return w * 2 + n end
      assert(describe(f, x, g) == describe(with, x, g), n)
    end
  end
  object = tb.compile(with, { backend = "eager" })
  arguments(object)
  stats = tb.stats(object)
  assert(#stats.fallbacks == 0 and not stats.eager and stats.entries <= 16, stats.entries .. " entries, " .. table.concat(stats.fallbacks, "; "))
  taken()
end

parts[part]()
