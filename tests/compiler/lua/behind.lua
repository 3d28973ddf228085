-- What runs plain is as little as may be: behind protected calls, scopes that close a variable, shared variables and coroutines the code is
-- compiled, and means what it does in plain Lua. Run by test_lua_behind.c with the name of a part.
local part, tests = ...
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local parts = {}

local note, taken = plain.recorder()
local check = plain.breaking(taken)
local x = tb.tensor({ 1.5, -2 }, { dtype = "f32" })

-- Nothing was given up, and so many graphs were made.
local function expect(stats, graphs)
  if stats.graphs ~= graphs or stats.eager or #stats.fallbacks > 0 then
    error(("%d graphs%s; expected %d: %s"):format(stats.graphs, stats.eager and ", eager" or "", graphs, table.concat(stats.fallbacks, "; ")), 2)
  end
end

-- A break inside of a protected call: what it calls is compiled as a function of its own.
function parts.protected()
  local function body(v, n)
    local y = v * 2
    note("body", y)
    y = y + n
    if n == 2 then error("two") end
    if n == 3 then error({ code = n }) end
    if n == 4 then error("at the caller", 2) end
    if n == 5 then return y + nothing_here.x end
    return y, n
  end
  local function handler(m)
    local lines = select(2, debug.traceback(m, 1):gsub("in function <[^\n]*behind.lua:%d+>", ""))
    return { handled = m, lines = lines > 0, at = debug.getinfo(2, "S").what }
  end
  expect(check("pcall", function()
    return function(v)
      local a = v + 1
      local ok, b, n = pcall(body, a, 1)
      return ok, b * 2, n
    end, x
  end), 4)
  check("errors", function()
    return function(v)
      local results = {}
      for n = 1, 5 do results[n] = table.pack(pcall(body, v, n)) end
      return v * 2, results
    end, x
  end)
  check("handlers", function()
    return function(v)
      local results = {}
      for n = 1, 5 do results[n] = table.pack(xpcall(body, handler, v, n)) end
      return v * 2, results
    end, x
  end)
  check("a handler that breaks", function()
    return function(v)
      local y = v + 1
      local ok, m = xpcall(body, function(m) note("handler", m) return m .. "!" end, v, 2)
      return y, ok, m
    end, x
  end)
  check("in tail position, and open results", function()
    local function all(...) return select("#", ...), ... end
    return function(v)
      local n = all(pcall(body, v, 1))
      local list = { xpcall(body, handler, v, 1) }
      note(n, #list)
      return pcall(body, v * 2, 2)
    end, x
  end)
  check("inside of one another", function()
    local function outer(v, n)
      local ok, m = pcall(body, v, n)
      note("outer", ok)
      error(m, 0)
    end
    return function(v)
      local a = table.pack(pcall(outer, v, 2))
      local b = table.pack(pcall(pcall, body, v, 3))
      return a, b, pcall(pcall)
    end, x
  end)
  check("wrong calls", function()
    return function(v)
      local a, b = pcall(), 1
      return a, b
    end, x
  end)
  check("yields", function()
    local function inner(v)
      local y = v * 2
      local got = coroutine.yield(y)
      if got == 2 then error("resumed with two") end
      return y + got
    end
    local function outer(v)
      local ok, r = pcall(inner, v)
      return ok, r, v + 1
    end
    return function(v)
      local results = {}
      for given = 1, 2 do
        local co = coroutine.create(outer)
        results[given] = { coroutine.resume(co, v) }
        results[-given] = { coroutine.resume(co, given) }
      end
      return results
    end, x
  end)
  -- the levels that a body sees, and the recursion through protected calls that Lua allows
  local function where()
    note(1)
    return debug.getinfo(1, "S").linedefined, debug.getinfo(2, "S").what, debug.getinfo(3, "S").linedefined
  end
  check("levels", function() return function(v) return v + 1, pcall(where) end, x end)
  local function deep(n)
    note(n)
    if n == 0 then return 0 end
    local ok, below = pcall(deep, n - 1)
    return below + 1
  end
  check("recursion", function() return function(v) return v + 1, pcall(deep, 30) end, x end)
end

-- A function that is another one in each call is compiled by its code: it needs no compile in each.
function parts.strangers()
  local function make(v)
    local k = v * 3
    local function twice(w) note("in") return w * 2 + k end
    local y = v + 1
    note("made")
    return twice(y)
  end
  local f = tb.compile(make, { backend = "eager", options = { recompile_limit = 3 } })
  for _ = 1, 60 do assert(plain.describe(f(x)) == plain.describe(make(x))) end
  local stats = tb.stats(f)
  assert(#stats.fallbacks == 0 and not stats.eager and stats.entries <= 24, stats.entries .. " entries; " .. table.concat(stats.fallbacks, "; "))
  taken()
end

-- A number that changes may be the key of a write: lists that grow from call to call are compiled twice.
function parts.keys()
  local function compare(name, f, make, most)
    for _, switches in ipairs { {}, { break_every = 1 }, { break_every = 3 }, { break_at = 5 } } do
      for _, dynamic in ipairs { "auto", true } do
        switches.recompile_limit = 100 -- each call that needs one is compiled, not given up
        local object = tb.compile(f, { backend = "eager", dynamic = dynamic == true or nil, options = switches })
        local here, there = table.pack(make()), table.pack(make())
        for call = 1, 12 do
          local want, got = table.pack(pcall(f, x, call, table.unpack(here))), table.pack(pcall(object, x, call, table.unpack(there)))
          want, got = plain.describe_all(want) .. plain.describe_all(here), plain.describe_all(got) .. plain.describe_all(there)
          assert(want == got, ("%s, call %d:\n  plain    %s\n  compiled %s"):format(name, call, want, got))
        end
        local stats = tb.stats(object)
        if not switches.break_every and not switches.break_at and most then assert(stats.entries <= most and #stats.breaks == 0, name .. ": " .. stats.entries .. " entries, " .. table.concat(stats.recompile_reasons, "; ")) end
      end
    end
  end
  local function lists() return {}, { 1, 2, 3, name = "b" } end
  compare("append", function(v, _, a) a[#a + 1] = v * 2 return v end, lists, 2)
  compare("append to two", function(v, n, a, b) a[#a + 1] = n b[#b + 1] = a return v end, lists, 2)
  compare("table.insert", function(v, n, a) table.insert(a, n) return v + n end, lists, 2)
  compare("the last one", function(v, n, a, b) b[#b] = n return v, b[1] == nil end, lists, 2)
  compare("any key", function(v, n, a) a[n * 3 - 20] = v return v end, lists, 2)
  compare("what was written", function(v, n, a) local at = #a + 1 a[at] = n return v, a[at] end, lists, 2)
  compare("and the length behind it", function(v, n, a) a[#a + 1] = n a[#a + 1] = v return v, #a end, lists, 2)
  compare("the length as a number", function(v, n, a) a[#a + 1] = n return v * #a, #a * 2, a[#a] end, lists, 2)
  compare("counted", function(v, n, a) local k = #a a[k + 1] = n a[k + 2] = v a[k + 3] = k return v, #a, a[#a] end, lists, 2)
  compare("table.insert and the length", function(v, n, a, b) table.insert(a, n) table.insert(b, v) table.insert(a, #b) return v + #a, #b end, lists, 2)
  compare("appended, and others", function(v, n, a, b) a[#a + 1] = n a[1] = v b[#b + 1] = n b[#b + 1] = nil return v, #a, #b end, lists)
  compare("appended and taken away", function(v, n, a) a[#a + 1] = n a[#a + 1] = v a[#a] = nil return v, #a end, lists)
  compare("a loop over all", function(v, n, a) a[#a + 1] = n local s = 0 for i = 1, #a do s = s + a[i] end return v, s end, lists)
  compare("something behind", function(v, n, a) if n == 7 then a[#a + 3] = n return v, n end a[#a + 1] = n return v, n, a[#a] end, lists)
  compare("what is behind in some calls", function(v, n, a, b) local k = #a a[k + 1] = n local l = #a if n % 4 == 0 then b[#b + 2] = "hole" end b[#b + 1] = n return v, l end, lists)
  compare("beside constants", function(v, n, a) a[n] = n a[3] = "three" local first, third = a[1], a[3] a[n] = a[n] or 1 return v, first, third, a[5] end, lists)
  compare("keys that meet", function(v, n, a) a[n] = "n" a[n % 3 + 1] = "m" a[8 - n] = "k" return v, a[1], a[2] end, lists)
  compare("in order", function(v, n, a) local s = 0 for i in ipairs(a) do s = s + i end a[n] = n for k in pairs(a) do s = s + k end return v, s end, lists)
  compare("an order before", function(v, n, a, b) local s = "" for k in pairs(b) do s = s .. k end b[n % 3 + 1] = n for k, w in pairs(b) do s = s .. tostring(k) .. tostring(w) end return v, s end, lists)
  compare("nothing", function(v, n, a) a[n] = nil a[n + 1] = n return v, a[12] end, lists)
  compare("floats", function(v, n, a) a[n / 2] = n return v, a[2] end, lists)
  compare("watched", function(v, n, a) a[#a + 1] = n return v end, function() local seen = {} return setmetatable({}, { __newindex = function(t, k, w) rawset(t, k, w) seen[#seen + 1] = k end }), seen end)
  -- lists that are one in some calls
  local function two(v, a, b) a[#a + 1] = "a" local last = b[2] b[#b + 1] = "b" return v, last, a[1], b[2] end
  local object = tb.compile(two, { backend = "eager" })
  local here, there = {}, {}
  for i, l in ipairs { here, there } do for k = 1, 3 do l[k] = { i - i, k } end end
  for call = 1, 12 do
    local a, b = call % 3 + 1, call % 2 + 1
    local want, got = plain.describe_all { n = 4, two(x, here[a], here[b]) }, plain.describe_all { n = 4, object(x, there[a], there[b]) }
    assert(want == got and plain.describe(here) == plain.describe(there), call)
  end
end

-- Scopes that close a variable, and those in which a captured variable changes, run plain behind a break; what comes after them does not.
function parts.scopes()
  local function closer(name) return setmetatable({}, { __close = function(_, e) note("close", name, e) end }) end
  local function behind(stats, graphs, line)
    local told = stats.fallbacks[1] or "nothing"
    assert(stats.graphs == graphs and not stats.eager and told:find("runs eagerly up to line %d+"), told .. ", " .. stats.graphs)
  end
  behind(check("to be closed", function()
    return function(v)
      local y = v * 2
      do
        local guard <close> = closer("guard")
        note("inside", y)
        y = y + 1
      end
      y = y * 3
      return y - 1
    end, x
  end), 2)
  check("with breaks behind, and errors inside and behind", function()
    return function(v, n)
      for i = 1, 3 do
        do
          local first <close> = closer(i)
          local second <close> = i > 1 and closer("second") or nil
          v = v + i
          if i == n then error("inside") end
          if i == 2 then goto next end
        end
        note("behind", v)
        v = v * 2
        if i == n - 3 then local nothing v = v + nothing.field end
        ::next::
      end
      return v
    end, x, 3
  end)
  for n = 1, 7 do
    check("errors " .. n, function()
      return function(v)
        local name = "upper"
        if n > 1 then
          local guard <close> = closer(n)
          note(name)
          if n == 2 then return v, name end
          if n == 3 then name = nil .. name end
        end
        local later = v * 2
        if n == 4 then later = later + name.field.more end
        if n == 5 then local t = {} t.x.y = later end
        while n == 6 do
          local guard <close> = closer("loop")
          if note(1) == nil then break end
        end
        return later, name
      end, x
    end)
  end
  behind(check("a captured variable", function()
    return function(v)
      local y = v * 2
      do
        local count = 0
        local function up(by) count = count + by return count end
        note(up(1))
        count = count + 10
        y = y + up(2) + count
      end
      y = y * 3
      return y - 1
    end, x
  end), 2)
  check("captured in loops, left in several ways", function()
    return function(v)
      local list = {}
      for i = 1, 4 do
        local count = i
        list[i] = function() count = count * 2 return count end
        note(count, list[i]())
        if count > 3 then v = v + count break end
        count = count + 1
        list[i]()
        if count == 4 then goto out end
        v = v * count
      end
      v = v - 1
      ::out::
      note(list[1](), v)
      return v + 1, list[1](), #list
    end, x
  end)
end

-- A break inside of a module, or of another value with a __call: it is compiled as a module of its own.
function parts.callables()
  local nn = tb.nn
  local linear = nn.Linear(2, 2)
  local function layer(bias)
    return setmetatable({ bias = bias }, { __call = function(self, v, n)
      local y = linear(v) + self.bias
      note("layer", n)
      if n == 3 then error("three") end
      self.calls = (self.calls or 0) + 1
      return y:relu(), self.calls
    end })
  end
  expect(check("in tail position", function()
    local one = layer(1)
    return function(v) return one(v * 2) end, x
  end), 3)
  expect(check("results are used", function()
    local one = layer(1)
    return function(v)
      local y, calls = one(v * 2)
      return y - calls
    end, x
  end), 4)
  expect(check("several", function()
    local layers = { layer(1), layer(2), layer(3) }
    return function(v)
      for i = 1, #layers do v = layers[i](v, i - 1) end
      return v * 2
    end, x
  end), 7)
  check("errors", function()
    local one = layer(1)
    return function(v)
      local ok, message = pcall(one, v, 3)
      local fine, y = pcall(one, v, 1)
      return ok, message, fine, y
    end, x
  end)
  check("inside of a module", function()
    local model = nn.Sequential { linear, layer(1), linear }
    return function(v) return model(v) + 1 end, x
  end)
  check("one that the call makes", function()
    return function(v)
      local made = layer(4)
      return made(v) + 1, made.calls
    end, x
  end)
  -- Another __call, and none.
  local method = function(_, v) local y = v + 1 note("first") return y * 2 end
  local meta = {}
  meta.__call = method
  local value = setmetatable({}, meta)
  local f = tb.compile(function(v) local y = value(v * 1) return y end, { backend = "eager" })
  assert(f(tb.ones(1)):item() == 4 and f(tb.ones(1)):item() == 4)
  meta.__call = function(_, v) note("second") return v * 5 end
  assert(f(tb.ones(1)):item() == 5)
  meta.__call = nil
  local ok, message = pcall(f, tb.ones(1))
  assert(not ok and message:find("attempt to call a table value", 1, true), message)
  meta.__call = setmetatable({}, { __call = function(_, _, v) return v * 7 end })
  assert(f(tb.ones(1)):item() == 7)
  -- Nothing is kept alive.
  local gone = setmetatable({}, { __mode = "k" })
  local holder = { layer(1) }
  gone[holder[1]] = true
  local g = tb.compile(function(v) local y = holder[1](v) return y + 1 end, { backend = "eager" })
  g(x)
  holder[1] = layer(2)
  g(x)
  tb.reset()
  collectgarbage() collectgarbage()
  assert(not next(gone), "a replaced module is kept alive")
end

-- A coroutine is no part of the graph; what is before and behind each step of it is.
function parts.coroutines()
  local function reasons(stats, graphs, breaks)
    for _, b in ipairs(stats.breaks) do assert(b.name == "COROUTINE" and #b.hint > 0, b.name) end
    assert(stats.graphs == graphs and #stats.breaks == breaks and not stats.eager and #stats.fallbacks == 0, stats.graphs .. " graphs, " .. #stats.breaks .. " breaks")
  end
  local stats = check("create, wrap, resume, yield, status", function()
    return function(v)
      local y = v * 2
      local step = coroutine.wrap(function(a) local b = coroutine.yield(a + 1) return b * 2 end)
      y = y + 1
      local z = step(y) * 3
      local co = coroutine.create(function(a) coroutine.yield(a * 2) error("dead") end)
      local _, first = coroutine.resume(co, z)
      local ok, message = coroutine.resume(co)
      return step(z) - 1, first + 1, ok, message, coroutine.status(co)
    end, x
  end)
  assert(stats.breaks[1].name == "COROUTINE" and stats.breaks[1].hint == "keep coroutines outside the compiled function" and stats.graphs >= 4 and not stats.eager, stats.graphs)
  reasons(check("whether one runs", function()
    return function(v)
      local y = v * 2
      local may = coroutine.isyieldable()
      y = y + 1
      local _, main = coroutine.running()
      return y * 2, may, main
    end, x
  end), 3, 2)
end

-- What goes on behind a break reads the variables that the function has now.
function parts.joined()
  local a, b = 1, 2
  local function get_b() return b end
  local function g(x) io.write("") local r = x + a io.write("") return r * a end
  local f = tb.compile(g, { backend = "eager" })
  local x = tb.ones(1)
  assert(f(x):item() == 2)
  local place = debug.getupvalue(g, 1) == "a" and 1 or 2
  for i = 1, 3 do if debug.getupvalue(g, i) == "a" then place = i end end
  debug.upvaluejoin(g, place, get_b, 1)
  assert(f(x):item() == 6 and g(x):item() == 6)
  b = 5
  assert(f(x):item() == 30)
end

parts[part]()
