-- Closures that a program makes anew at each call: they are guarded by their code, and what they capture as it is used; and the
-- metatable of strings. Each function runs plain and compiled, and results and effects are the same. Run by test_lua_closures.c with the name of a part.
local part, tests, first_seed, seeds = ...
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local parts = {}

local function x() return tb.tensor({ 1.5, -2 }, { dtype = "f32" }) end
local function entries(f) return tb.stats(f).entries end

-- Calls f compiled and plain, `calls` times, with what make(i) gives, made anew for each side; what it returns as `look` is described
-- afterwards. Gives the compiled function.
local function compare(f, calls, make, options)
  local compiled = tb.compile(f, options or { backend = "eager", options = { recompile_limit = 64 } })
  for i = 1, calls do
    local texts = {}
    for side, g in ipairs { f, compiled } do
      local args, look = make(i)
      texts[side] = plain.describe_all(table.pack(pcall(g, table.unpack(args, 1, args.n or #args)))) .. " / " .. plain.describe_all(table.pack(look()))
    end
    if texts[1] ~= texts[2] then error(("call %d:\n  plain    %s\n  compiled %s"):format(i, texts[1], texts[2]), 2) end
  end
  return compiled
end
local function nothing() end

function parts.anew()
  local function apply(v, g) return g(v) + 1 end
  for _, backend in ipairs(plain.backends) do
    for _, dynamic in ipairs { "nil", "never" } do
      local options = { backend = backend }
      if dynamic == "never" then options.dynamic = false end
      local f = compare(apply, 12, function() return { x(), function(y) return y * 2 end }, nothing end, options)
      assert(entries(f) == 2 and not tb.stats(f).eager and #tb.stats(f).fallbacks == 0, entries(f))
    end
    -- a number that it captures changes too
    local f = compare(apply, 12, function(i) return { x(), function(y) return y * i + i // 2 end }, nothing end, { backend = backend })
    assert(entries(f) == 3 and not tb.stats(f).eager, entries(f))
  end
  -- in a field, in an upvalue of another one, and behind a graph break
  local f = compare(function(v, t) return t.act(v) end, 10, function(i)
    local inner = function(y) return y + i end
    return { x(), { act = function(y) return inner(y) * 3 end } }, nothing
  end)
  assert(entries(f) <= 4 and not tb.stats(f).eager, entries(f))
  local b = compare(function(v)
    local k = v:size(1)
    local g = function(y) return y * k end
    io.write("")
    return g(v) + 1, g
  end, 12, function() return { x() }, nothing end)
  assert(entries(b) <= 4 and not tb.stats(b).eager and #tb.stats(b).fallbacks == 0, entries(b))
end

-- Whatever the upvalues hold is guarded as it is used.
function parts.upvalues()
  local values = { 1, 2.5, "3", true, false, { 4 }, tb.ones(2), function(y) return y + 5 end, function(y) return y * 2 end, print, 1 << 40 }
  local function use(v, g) return g(v) end
  for _, calls in ipairs { 6, #values * 2 } do
    compare(use, calls, function(i)
      local u = values[(i - 1) % #values + 1]
      return { x(), function(y)
        if type(u) == "table" then return y + u[1] end
        if type(u) == "function" and u ~= print then return u(y) end
        if tb.is_tensor(u) then return y - u end
        if math.type(u) then return y * u end
        return y, tostring(u), u == print
      end }, nothing
    end)
  end
  -- debug.setupvalue and upvaluejoin between the calls of one closure
  local a, b = 1, 10
  local g, h = function(y) return y + a end, function(y) return y + b end
  local f = tb.compile(use, { backend = "eager" })
  for i = 1, 4 do f(x(), (function(k) return function(y) return y + k end end)(i)) end
  for i = 1, 4 do assert(f(x(), g)[1]:item() == 2.5) end
  a = 2
  assert(f(x(), g)[1]:item() == 3.5)
  debug.setupvalue(g, 1, 3)
  assert(f(x(), g)[1]:item() == 4.5 and a == 3)
  debug.upvaluejoin(g, 1, h, 1)
  assert(f(x(), g)[1]:item() == 11.5 and f(x(), h)[1]:item() == 11.5)
end

-- Two functions on one line, other code on the same line of a chunk of the same name, and code that differs in a constant alone.
function parts.code()
  local function apply(v, g) return g(v) end
  compare(apply, 30, function(i)
    local p, q = i, 100 + i
    local one, two = function(y) return y * p end, function(y) return y * q end
    return { x(), i % 3 == 0 and one or two }, nothing
  end)
  local texts = { "return y * 2", "return y * 3", "return y + 2", "return y * 2, 1", "local a = y return a * 2", "error('said')", "error('told')" }
  compare(apply, 28, function(i)
    return { x(), load("local y = ... " .. texts[(i * 3) % #texts + 1], "=chunk") }, nothing
  end)
  -- the same code at another line raises its error there
  compare(apply, 12, function(i)
    return { x(), load(("\n"):rep(i % 3) .. "local y = ... local t = nil return y * t.k", "=chunk") }, nothing
  end)
  -- a function of C, and none at all, in its place
  compare(apply, 12, function(i) return { x(), i % 4 == 3 and tb.relu or i % 4 == 2 and 5 or function(y) return y * 2 end }, nothing end)
end

-- Variables that closures share, or do not, in turn.
function parts.shared()
  local own = 0
  local makers = {
    function() -- one variable
      local n = 0
      return function(d) n = n + d return n end, function() return n end, function() return n end
    end,
    function() -- two that look alike
      local n, m = 0, 0
      return (function(v) return function(d) v = v + d return v end end)(0), (function(v) return function() return v end end)(7), function() return n, m end
    end,
    function() -- joined afterwards
      local function counter(v) return function(d) v = v + d return v end, function() return v end end
      local add = counter(0)
      local other, get = counter(7)
      debug.upvaluejoin(add, 1, get, 1)
      return add, get, function() return add(0), get(), other(0) end
    end,
    function()
      local function counter(v) return function(d) v = v + d return v end, function() return v end end
      local add, own_get = counter(0)
      local _, get = counter(7)
      return add, get, function() return own_get(), get() end
    end,
  }
  local function use(v, add, get)
    local before = get()
    local a = add(1)
    local b = get()
    add(2)
    return v * a + b, before, get(), add == get
  end
  for seed = 1, 12 do
    math.randomseed(seed)
    local order = {}
    for i = 1, 12 do order[i] = makers[math.random(#makers)] end
    compare(use, #order, function(i)
      local add, get, look = order[i]()
      return { x(), add, get }, look
    end)
  end
  -- with a variable of the compiled function itself
  local function outer(v, add) own = own + 1 add(10) return v * own end
  local function apart(v) return function(d) v = v + d end end
  local compiled = tb.compile(outer, { backend = "eager", options = { recompile_limit = 64 } })
  for i = 1, 12 do
    local results = {}
    for side, f in ipairs { outer, compiled } do
      own = i
      local add = apart(i)
      if i % 3 == 0 then debug.upvaluejoin(add, 1, function() return own end, 1) end
      results[side] = plain.describe_all(table.pack(f(x(), add), own))
    end
    assert(results[1] == results[2], results[2])
  end
  -- one closure given twice, or two
  compare(function(v, g, h) g() h() return v + g(), g == h end, 12, function(i)
    local function counter() local n = 0 return function() n = n + 1 return n end end
    local g = counter()
    local h = i % 2 == 0 and g or counter()
    return { x(), g, h }, function() return g(), h() end
  end)
end

-- Where the function itself matters: compared, a key, returned, stored.
function parts.identity()
  local f = compare(function(v, g, h) return g == h and v or g(v), g ~= h end, 12, function(i)
    local function make() return function(y) return y * 2 end end
    local g = make()
    return { x(), g, i % 3 == 0 and g or make() }, nothing
  end)
  assert(not tb.stats(f).eager)
  local kept = {}
  local c = tb.compile(function(v, g, t) t.last = g return g(v), g end, { backend = "eager" })
  for i = 1, 6 do
    local g = function(y) return y + i end
    local t = {}
    local r, same = c(x(), g, t)
    assert(same == g and t.last == g and not kept[g] and r[1]:item() == 1.5 + i)
    kept[g] = true
  end
  assert(entries(c) <= 3, entries(c))
  compare(function(v, g, t) local known = t[g] t[g] = true return g(v), known end, 5, function(i)
    local g, t = function(y) return y * 2 end, {}
    if i % 2 == 0 then t[g] = i end
    return { x(), g, t }, function() return t[g] end
  end)
end

-- Random calls: closures of a few makers, drawn anew or kept, in two places and one field.
function parts.random()
  for seed = first_seed, first_seed + seeds - 1 do
    math.randomseed(seed)
    local plan = {}
    for i = 1, 10 do plan[i] = { math.random(5), math.random(5), math.random(5), math.random(3), math.random(4) } end
    local function run(wrap)
      local n, kept, texts = 0, {}, {}
      local function make(which, k)
        local m = k
        if which == 1 then return function(y) return y * k end end
        if which == 2 then return function(y) n = n + 1 return y + n end end
        if which == 3 then return function(y) m = m + k return y * m end end
        if which == 4 then return function(y) local z = m m = n n = z return y - z end end
        kept[k] = kept[k] or function(y) n = n + k m = m + n return y * 2 + m end
        return kept[k]
      end
      local f = wrap(function(v, g, h, t)
        local a = g(v)
        local b = h(a)
        if g == h then b = b + 1 end
        return t.act(b), n
      end)
      for i, p in ipairs(plan) do
        local g = make(p[1], p[4])
        local h = p[5] == 1 and g or make(p[2], p[4])
        local t = { act = p[5] == 2 and h or make(p[3], p[5]) }
        texts[i] = plain.describe_all(table.pack(f(x(), g, h, t))) .. n
      end
      return texts
    end
    local want = run(function(f) return f end)
    local got = run(function(f) return tb.compile(f, { backend = "eager", options = { recompile_limit = 64, break_every = seed % 4 == 0 and 3 or nil } }) end)
    for i = 1, #want do
      if want[i] ~= got[i] then error(("seed %d, call %d:\n  plain    %s\n  compiled %s"):format(seed, i, want[i], got[i]), 0) end
    end
  end
end

-- The metatable of strings: another one, and a __tostring in it.
function parts.string_metatable()
  local strings = getmetatable("")
  local function g(x, s) return x * 2, s:rep(2), tostring(s), ("%s"):format(s), ("%d %s"):format(3, s) end
  local function check(f, s)
    local got, want = table.pack(pcall(f, tb.ones(1), s)), table.pack(pcall(g, tb.ones(1), s))
    local same = got.n == want.n and got[1] == want[1]
    for i = 3, want.n do same = same and got[i] == want[i] end
    if not same then error("compiled " .. table.concat(got, " ", 3) .. ", plain " .. table.concat(want, " ", 3), 2) end
  end
  local f = tb.compile(g, { backend = "eager" })
  local ok, message = pcall(function()
    check(f, "a")
    debug.setmetatable("", { __index = { rep = function(s, n) return s .. n end, format = string.format } })
    check(f, "a")
    debug.setmetatable("", strings)
    check(f, "a")
    strings.__tostring = function(s) return "<" .. #s .. ">" end
    check(f, "a")
    check(tb.compile(g, { backend = "eager" }), "abc")
    strings.__tostring = nil
    check(f, "a")
    debug.setmetatable("", nil)
    local h = tb.compile(function(x, s) return x + 1, tostring(s) end, { backend = "eager" })
    local _, text = h(tb.ones(1), "q")
    assert(text == "q")
    debug.setmetatable("", strings)
    strings.__tostring = function() return "other" end
    _, text = h(tb.ones(1), "q")
    assert(text == "other")
  end)
  strings.__tostring = nil
  debug.setmetatable("", strings)
  assert(ok, message)
end

parts[part]()
