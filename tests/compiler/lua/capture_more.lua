-- Lua's library, errors and numbers in captured code: each function runs plain and compiled, with breaks forced at other
-- places, and results, effects and errors are the same. Run by test_lua_capture_more.c with the name of a part.
local part, tests = ...
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local parts = {}

local note, taken = plain.recorder()

-- make() gives a function and its arguments, anew for each side; `changes`, if it gives one, is called between calls. `whole`:
-- without forced breaks nothing breaks.
local settings = { {}, { break_every = 1 }, { break_every = 2 }, { break_every = 3 } }
local function check(name, whole, make)
  local function run(wrap)
    tb.manual_seed(7)
    local made, texts = table.pack(make()), {}
    made[1] = wrap(made[1])
    for call = 1, 3 do
      texts[call] = plain.describe_all(table.pack(pcall(table.unpack(made, 1, made.n)))) .. " / " .. plain.describe_all(table.pack(table.unpack(made, 2, made.n))) ..
        " / " .. taken()
    end
    return texts, made[1]
  end
  local want = run(function(f) return f end)
  for _, backend in ipairs { "eager", "inductor" } do
    for i, switches in ipairs(settings) do
      local got, object = run(function(f) return tb.compile(f, { backend = backend, options = switches }) end)
      for call = 1, #want do
        if got[call] ~= want[call] then
          error(("%s, %s, break_every=%s, call %d:\n  plain    %s\n  compiled %s"):format(name, backend, switches.break_every, call, want[call], got[call]), 0)
        end
      end
      local stats = tb.stats(object)
      if i == 1 and whole and (#stats.breaks > 0 or #stats.fallbacks > 0) then
        error(("%s: %s"):format(name, #stats.breaks > 0 and stats.breaks[1].reason .. " (" .. tostring(stats.breaks[1].detail) .. ")" or stats.fallbacks[1]), 0)
      end
    end
  end
end
local function whole(name, make) check(name, true, make) end
local function any(name, make) check(name, false, make) end

local function x() return tb.tensor({ 1.5, -2 }, { dtype = "f32" }) end

function parts.protected()
  whole("pcall that goes well", function()
    return function(v, n) return pcall(function(a, ...) return a + n, ... end, v, 1, nil, "s") end, x(), 2
  end)
  whole("pcall of an error", function()
    return function(v)
      local ok, message = pcall(function() error("said") end)
      local ok2, message2 = pcall(function() error("said", 2) end)
      local ok3, message3 = pcall(function() error("said", 0) end)
      local ok4, message4 = pcall(function() error({ code = 7 }) end)
      local ok5, message5 = pcall(function() error() end)
      local ok6, message6 = pcall(function() error(12, "1") end)
      local ok7, message7 = pcall(function() error(v) end)
      return v * 2, ok, message, ok2, message2, ok3, message3, ok4, message4.code, ok5, message5, ok6, message6, ok7, message7
    end, x()
  end)
  whole("levels", function()
    local function deep(level) error("at " .. level, level) end
    local function middle(level) deep(level) return 1 end
    local function tail(level) return deep(level) end
    local indexed = setmetatable({}, { __index = function(_, k) error("no " .. k, 2) end })
    local shown = setmetatable({}, { __tostring = function() error("cannot show", 2) end })
    return function(v)
      local texts = {}
      for level = 0, 3 do
        texts[#texts + 1] = select(2, pcall(middle, level))
        texts[#texts + 1] = select(2, pcall(tail, level))
        texts[#texts + 1] = select(2, pcall(error, "direct", level // 2))
      end
      texts[#texts + 1] = select(2, pcall(function() return indexed.field end))
      texts[#texts + 1] = select(2, pcall(function() return tostring(shown) end))
      texts[#texts + 1] = select(2, pcall(pcall, error, "nested"))
      return v + 1, table.concat(texts, "|", 1, 14), texts[15]
    end, x()
  end)
  whole("assert", function()
    return function(v)
      local a = table.pack(pcall(assert, false))
      local b = table.pack(pcall(function() assert(nil, "said") end))
      local c = table.pack(pcall(function() assert(false, { 1 }) end))
      local d = table.pack(pcall(function() return assert(v, "fine") end))
      local e = table.pack(pcall(function() assert(1 > 2) end))
      return v + 1, a, b, c, d, e
    end, x()
  end)
  whole("xpcall", function()
    return function(v, t)
      local seen = 0
      local function handler(message) seen = seen + 1 t.last = message return "handled " .. tostring(message), "dropped" end
      local a, b, c = xpcall(function(p, q) return p + q end, handler, v, 1)
      local d, e, f = xpcall(function(p) local k = p k = k + 1 error("bad " .. k) end, handler, 4)
      return a, b, c, d, e, f, seen
    end, x(), {}
  end)
  whole("effects before an error stay", function()
    local count = 0
    return function(v, t)
      local kept = v
      local function step(i)
        count = count + 1
        t[#t + 1] = i
        kept = kept * 2
        if i == 3 then error("three") end
      end
      for i = 1, 4 do
        local ok, message = pcall(step, i)
        t["r" .. i] = tostring(ok) .. tostring(message)
      end
      return kept, count
    end, x(), {}
  end)
  whole("variables of a frame that an error ends", function()
    return function(v)
      local get
      local ok = pcall(function()
        local inner = 1
        get = function() inner = inner + 1 return inner end
        get()
        error("out")
      end)
      return v, ok, get(), get()
    end, x()
  end)
  whole("nested and raised again", function()
    return function(v)
      local function inner() error("one") end
      local ok, message = pcall(function()
        local ok2, message2 = pcall(inner)
        error("two of " .. message2, 0)
      end)
      local function loop(n) if n == 0 then error({}) end local fine = pcall(loop, n - 1) return n, fine end
      return v, ok, message, pcall(loop, 5)
    end, x()
  end)
  any("other errors break", function()
    return function(v, t)
      local y = v * 3
      local a = table.pack(pcall(function() return t.x.y end))
      local b = table.pack(pcall(function() return v + {} end))
      local c = table.pack(pcall(function() return y:view(7) end))
      local d = table.pack(pcall(string.rep))
      local e = table.pack(pcall(nil))
      return y, a[1], a[2], b[1], c[1], d, e
    end, x(), {}
  end)
  any("breaks inside of protected calls", function()
    return function(v)
      local ok, a = pcall(function(p) local q = p * 2 note("in", q) return q + 1 end, v)
      local ok2, b = pcall(function(p) note("then") error("out") end, v)
      local ok3, c = xpcall(function() note("x") error("again") end, function(m) note("handler") return m .. "!" end)
      return ok, a, ok2, b, ok3, c
    end, x()
  end)
  any("errors that leave the function", function()
    return function(v, t)
      local y = v + 1
      t.y = y
      pcall(error, "caught")
      error({ "left" })
    end, x(), {}
  end)
  any("an error in a message handler", function()
    return function(v) return v, xpcall(error, function(m) if type(m) == "string" then error("again") end return m end, "first") end, x()
  end)
  any("a level below the function", function() return function(v) return v, pcall(function() error("far", 4) end) end, x() end)
  any("compiled functions between", function()
    local inner = tb.compile(function(a, level) error("from inside", level) end)
    return function(v)
      return v, select(2, pcall(inner, v, 1)), select(2, pcall(function() inner(v, 2) end)), select(2, pcall(function() inner(v, 3) end))
    end, x()
  end)
end

function parts.lists()
  whole("sort", function()
    return function(v, t)
      local fresh = { 5, 3, 8, 1, 9, 2, 7, 3, 3 }
      table.sort(fresh)
      table.sort(t)
      local words = { "pear", "apple", "fig" }
      table.sort(words, function(a, b) return #a < #b end)
      return v * fresh[1], table.concat(fresh, ","), table.concat(t, ","), table.concat(words, ",")
    end, x(), { 4, 2.5, -1, 10, 0 }
  end)
  whole("sort of equal elements, and the calls it makes", function()
    local list = {}
    for i = 1, 60 do list[i] = { key = i * 7 % 5, n = i } end
    return function(v, t, seen)
      local calls = 0
      table.sort(t, function(a, b)
        calls = calls + 1
        if calls % 17 == 0 then seen[#seen + 1] = a.n .. ":" .. b.n end
        return a.key < b.key
      end)
      local order = {}
      for i, e in ipairs(t) do order[i] = e.n end
      return v + calls, calls, table.concat(order, " ")
    end, x(), list, {}
  end)
  whole("sort with metamethods", function()
    local class = { __lt = function(a, b) return a.v > b.v end }
    local function object(i) return setmetatable({ v = i }, class) end
    return function(v, a, b, c, d)
      local t = { a, b, c, d }
      table.sort(t)
      return v + t[1].v, t[1].v, t[2].v, t[3].v, t[4].v
    end, x(), object(1), object(4), object(2), object(3)
  end)
  whole("sort of few", function() return function(v, t) table.sort(t) table.sort({}, 5) local p = { 2, 1 } table.sort(p) return v + p[1], t, p end, x(), { 1 } end)
  whole("sort that is stopped", function()
    return function(v, t)
      local calls = 0
      local ok, message = pcall(table.sort, t, function(a, b) calls = calls + 1 if calls == 4 then error("stop", 2) end return a < b end)
      return v, ok, message, table.concat(t, ",")
    end, x(), { 5, 4, 3, 2, 1 }
  end)
  any("sort that goes wrong", function()
    return function(v, t)
      return v, pcall(table.sort, t, function() return true end), pcall(table.sort, { 1, "x" }), pcall(table.sort, { 1, 2, 3 }, 5), pcall(table.sort, v)
    end, x(), { 5, 4, 3, 2, 1 }
  end)
  any("sort by the clock: the result alone", function()
    local t = {}
    for i = 1, 300 do t[i] = (i * 7919) % 3001 end
    return function(v, list) table.sort(list) return v + list[1], table.concat(list, " ") end, x(), t
  end)
  whole("move", function()
    return function(v, t, u)
      local a = table.move({ 1, 2, 3 }, 1, 3, 2)
      local b = table.move({ 1, 2, 3 }, 2, 3, 1)
      local c = table.move(t, 1, 3, 3)
      local d = table.move(t, 1, #t, 1, u)
      local e = table.move(t, 2, 1, 5)
      local f = table.move({ v, v + 1 }, 1, 2, 1, {})
      return f[2], table.concat(a, ","), table.concat(b, ","), c == t, table.concat(t, ","), d == u, e == t, table.concat(u, ","), f
    end, x(), { 1, 2, 3 }, { 9, 9, 9, 9, 9, 9, 9 }
  end)
  whole("move with metamethods", function()
    local made = {}
    local from = setmetatable({}, { __index = function(_, i) return i * 10 end })
    local to = setmetatable({}, { __newindex = function(_, i, e) made[#made + 1] = i .. "=" .. e end })
    return function(v, m) table.move(from, 1, 3, 5, to) return v, table.concat(m, " ") end, x(), made
  end)
  any("move that goes wrong", function()
    return function(v) return v, pcall(table.move, {}, math.mininteger, 5, 1), pcall(table.move, {}, 1, 2, math.maxinteger), pcall(table.move, 1, 1, 1, 1), pcall(table.move, {}, 1, 2) end, x()
  end)
  whole("concat, insert, remove, unpack on tables from outside", function()
    return function(v, t)
      table.insert(t, "e")
      table.insert(t, 2, 2.5)
      local first = table.remove(t, 1)
      local gone = table.remove(t, #t + 1)
      return v, table.concat(t, "-", 1, 3), table.concat(t), table.concat({}, "x"), first, gone, table.unpack(t, 2, 4)
    end, x(), { "a", 1, "c", 10 }
  end)
  whole("select, rawequal, rawlen, next", function()
    return function(v, t, ...)
      return v, select(-1, ...), select(-2, ...), select("#", ...), rawequal(t, t), rawequal(t, {}), rawlen(t), rawlen("äb"), #"äb", next({}), next({ 7 }), rawequal(1, 1.0), rawequal("a", "a")
    end, x(), { 1, 2 }, "p", nil, "q"
  end)
  whole("__pairs and __index in loops", function()
    local proxy = setmetatable({}, { __index = { 10, 20, 30 }, __pairs = function(p) return function(_, k) if not k then return 1, "one" end end, p, nil end })
    return function(v, p)
      local text = ""
      for i, e in ipairs(p) do text = text .. i .. "=" .. e .. " " end
      for k, e in pairs(p) do text = text .. k .. "=" .. e .. " " end
      return v, text
    end, x(), proxy
  end)
end

function parts.strings()
  whole("gmatch", function()
    return function(v, s)
      local words, sum = {}, 0
      for w in s:gmatch("%a+") do words[#words + 1] = w end
      for k, n in string.gmatch("a=1, b=22", "(%w+)=(%w+)") do sum = sum + n words[#words + 1] = k end
      for position in s:gmatch("()o") do sum = sum + position end
      local next_word = s:gmatch("%w+", 4)
      return v + sum, table.concat(words, "|"), next_word(), next_word()
    end, x(), "one two  three o"
  end)
  any("gmatch with breaks inside", function()
    return function(v, s)
      for w in s:gmatch("%a+") do
        note(w)
        v = v + #w
      end
      return v
    end, x(), "one two three"
  end)
  any("an iterator that is returned", function()
    return function(v, s) local f = s:gmatch("%a+") f() return v, f end, x(), "one two three"
  end)
  whole("utf8", function()
    return function(v, s)
      local sum = 0
      for p, c in utf8.codes(s) do sum = sum + p * c end
      return v + utf8.len(s), sum, #s, utf8.char(228, 8364), utf8.codepoint(s, 1, -1)
    end, x(), "aä€"
  end)
  any("utf8 with breaks, and with a bad string", function()
    return function(v, s)
      for p, c in utf8.codes(s) do note(p, c) v = v + c end
      return v, pcall(function() for _ in utf8.codes("\xff") do end end)
    end, x(), "aä€"
  end)
  whole("methods of strings", function()
    return function(v, s)
      return v, s:rep(3, "-"), s:upper(), s:len(), s:byte(1, -1), s:find("b", 1, true), s:format(1), ("%5.2f|%q|%s"):format(1, "x\n", true), s:reverse(), s:sub(-2), ("x"):rep(0), ("%d"):format(3.0)
    end, x(), "abc"
  end)
  whole("gsub with tables and functions", function()
    return function(v, s)
      return v, s:gsub("%w+", "<%0>"), s:gsub("(%w)(%w)", "%2%1", 2)
    end, x(), "hello world"
  end)
  any("format of objects, tostring", function()
    local object = setmetatable({}, { __tostring = function() return "an object" end })
    return function(v, o)
      return v + 1, tostring(o), ("%s"):format(o), tostring(nil) .. tostring(true) .. tostring(1e15) .. tostring(-0.0) .. tostring(2^63) .. tostring(1 // 1) .. tostring(3.0)
    end, x(), object
  end)
  any("gsub with a function", function() return function(v) return v, (("abc"):gsub("%w", function(c) return c .. c end)), (("abc"):gsub("%w", { a = "1", b = false })) end, x() end)
end

function parts.numbers()
  local max, min = math.maxinteger, math.mininteger
  whole("string coercions", function()
    return function(v, s, h) return v, s + 1, s * "2", 10 .. "", s .. 1.5, h + 0, -s, "0x10" + 0, " 5 " + 0, "1e1" * 1, s // 3, s % 4, s ^ 2, 2^53 .. "", -0.0 .. "", 1e100 .. "" end, x(), "10", "0x1p4"
  end)
  any("strings that are no numbers, and bits of strings", function()
    return function(v, s) return v, "3" | 0, "3.0" << 1, pcall(function() return s + 1 end), pcall(function() return "1.5" | 0 end), pcall(function() return 1 .. {} end) end, x(), "x"
  end)
  local methods = getmetatable "" -- the operators of strings are its metamethods, and a program may put others there
  local f, add, minus = tb.compile(function(v, s) return v, s + 1, 2 * s, -s end, { backend = "eager" }), methods.__add, methods.__unm
  local function results(s) return table.concat({ select(2, f(x(), s)) }, " ") end
  assert(results "10" == "11 20 -10")
  methods.__add = function(a, b) return a .. "+" .. b end
  methods.__unm = nil
  local ok, message = pcall(results, "10")
  methods.__unm = function(a) return "minus " .. a end
  local replaced = results "10"
  methods.__add, methods.__unm = add, minus
  assert(not ok and message:find "attempt to perform arithmetic on a string value %(local 's'%)", message)
  assert(replaced == "10+1 20 minus 10" and results "10" == "11 20 -10" and results "7" == "8 14 -7", replaced)
  whole("comparisons of integers and floats", function()
    return function(v, a, b)
      return v, a == b, a < b, a <= b, a > b, 2^53 == 2^53 + 1, max + 0.0 == max, max < max + 0.0, max + 0.0 > max, min <= -2^63, min == -2^63, 1 < 1.5, 1 == 1.0, math.type(3 // 1), math.type(3 / 1),
        max < math.huge, min > -math.huge, 0/0 ~= 0/0, (1 << 53) + 1 < 2^53, (1 << 53) + 1 > 2^53
    end, x(), (1 << 53) + 1, 2.0^53
  end)
  whole("division and modulo", function()
    return function(v, a, b)
      local r = {}
      for _, p in ipairs { 7, -7, 7.5, -7.5, 0, -0.0 } do
        for _, q in ipairs { 3, -3, 2.5, -2.5, math.huge, -math.huge } do
          r[#r + 1] = p // q
          r[#r + 1] = p % q
        end
      end
      return v, r, a // 0.0, -a // 0.0, a % 0.0, 0.0 / 0.0, min // -1, min % -1, max * 2, max + 1 == min, 5.0 // 0, -5 % math.huge, b // 0.0
    end, x(), 5, 0
  end)
  any("division by zero", function() return function(v, z) return v, pcall(function() return 1 // z end), pcall(function() return 1 % z end) end, x(), 0 end)
  whole("bits", function()
    return function(v, a) return v, a & 3.0, 2.0^40 | 1, ~0, a << 63, a << 64, a >> -1, a ~ 5, -1 >> 60, 1 << 62.0 end, x(), 6
  end)
  any("bits of floats that are none", function() return function(v, f) return v, pcall(function() return 1 | f end), pcall(function() return 1 << 2^70 end) end, x(), 1.5 end)
  whole("loops over numbers", function()
    return function(v, from, to, step)
      local s = {}
      local function add(...) s[#s + 1] = table.concat({ ... }, ",") end
      for i = from, to, step do add("a", i) end
      for i = 3, 1, -1 do add("b", i) end
      for i = max - 1, max do add("c", i) end
      for i = min + 1, min, -1 do add("d", i) end
      for i = 1, 0 do add("e", i) end
      for i = 1, 2, 0.5 do add("f", i) end
      for i = 1.0, 3 do add("g", i) end
      for i = 1, 3.7 do add("h", i) end
      for i = 3, 1.5, -1 do add("i", i) end
      for i = 1, math.huge do if i > 3 then break end add("j", i) end
      for i = 1, -math.huge do add("k", i) end
      for i = -1, -math.huge, -max do add("l", i) if i < -3 then break end end
      for i = 1, 0/0 do add("m", i) end
      for i = 0.1, 0.35, 0.1 do add("n", i) end
      for i = min, max, max do add("o", i) end
      for i = 1, 3 do local j = i i = i * 10 add("p", i, j) end
      return v, table.concat(s, " ")
    end, x(), 10, -5, -4
  end)
  any("loops that raise", function()
    return function(v, zero, s)
      return v, pcall(function() for i = 1, 2, zero do end end), pcall(function() for i = 1.0, 2, 0 do end end), pcall(function() for i = s, 2 do end end),
        pcall(function() for i = 1, {} do end end), pcall(function() for i = 1, 2, s do end end)
    end, x(), 0, "1"
  end)
  whole("goto", function()
    return function(v, n)
      local i, out = 0, {}
      ::top::
      i = i + 1
      if i % 2 == 0 then goto top end
      do
        local k = i
        out[#out + 1] = function() k = k + 1 return k end
      end
      if i < n then goto top end
      for a = 1, 3 do
        for b = 1, 3 do
          if b == 2 then goto next_a end
          v = v + a * b
        end
        ::next_a::
      end
      local text = ""
      for _, f in ipairs(out) do text = text .. f() .. f() end
      return v, text
    end, x(), 7
  end)
  whole("math", function()
    return function(v, a, f)
      return v, math.floor(f), math.ceil(f), math.floor(a), math.abs(min), math.abs(-3.5), math.max(a, f, 2), math.min(f, a), math.fmod(-7, 3), math.fmod(7.5, -2), math.tointeger(3.0), math.tointeger(f),
        math.tointeger("8"), math.ult(1, -1), math.sqrt(16), math.floor(1e300), math.modf(-3.7), math.type(a), math.type("1"), math.max(1, 1.0), math.min(1.0, 1), math.pi, math.huge
    end, x(), 7, 2.5
  end)
end

-- Numbers that change at every call stay open.
function parts.changing()
  local function series(name, f, calls, most)
    for _, backend in ipairs { "eager", "inductor" } do
      local object = tb.compile(f, { backend = backend })
      for call = 1, calls do
        local v = x()
        local want, got = plain.describe_all(table.pack(pcall(f, v, call))), plain.describe_all(table.pack(pcall(object, v, call)))
        if want ~= got then error(("%s, %s, call %d:\n  plain    %s\n  compiled %s"):format(name, backend, call, want, got), 0) end
      end
      local stats = tb.stats(object)
      if stats.entries > most then error(("%s: %d entries, expected at most %d"):format(name, stats.entries, most), 0) end
    end
  end
  series("floor, ceil", function(v, n) return v * math.floor(n / 2), math.floor(n / 4), math.ceil(n / 4), math.floor(n) end, 12, 3)
  series("abs", function(v, n) return v * math.abs(n), math.abs(-n), math.abs(n - 1000) end, 12, 2)
  series("max, min", function(v, n) return v * math.max(n, 0), math.min(n, 100, 50), math.max(n, -n, 3.5 - 10), math.min(n * 0.5, n) end, 12, 2)
  series("tointeger", function(v, n) return v * n, math.tointeger(n), math.tointeger(n * 2.0) end, 12, 2)
  series("sqrt", function(v, n) return v * math.sqrt(n), math.sqrt(n + 1) end, 4, 4)
  series("math.type, type", function(v, n) return v * n, math.type(n), type(n), math.type(n / 2) end, 12, 2)
  series("fmod", function(v, n) return v * math.fmod(n + 0.0, 7.5), math.fmod(n, 7) end, 12, 3)
end

-- The same functions where signs, kinds and what is larger change from call to call.
function parts.signs()
  local functions = {
    function(v, n) return v, math.floor(n) end, function(v, n) return v, math.ceil(n) end, function(v, n) return v, math.abs(n) end,
    function(v, n) return v, math.max(n, 1.5), math.max(0.0, n), math.max(1, n) end, function(v, n) return v, math.min(n, 2), math.min(-0.0, n) end,
    function(v, n) return v, math.fmod(n, 3) end, function(v, n) return v, math.fmod(7.5, n) end, function(v, n) return v, math.tointeger(n), math.type(n) end,
  }
  local values = { 1.5, 2.5, -2.5, 3.0, -3.0, 0.0, -0.0, 0 / 0, 1 / 0, -1 / 0, 1e300, -0.25, 4, 5, -5, 0, math.mininteger, math.maxinteger, "7", 2.0^53, 0.5 }
  for i, f in ipairs(functions) do
    for _, dynamic in ipairs { false, true } do
      local object = tb.compile(f, { backend = "eager", dynamic = dynamic or nil, options = { recompile_limit = 100 } })
      for round = 1, 2 do
        for k, n in ipairs(values) do
          local v = x()
          local function text(g)
            local results = table.pack(pcall(g, v, n))
            for j = 3, results.n do if results[j] == 0 then results[j] = results[j] .. ("%g"):format(1 / results[j]) end end
            return plain.describe_all(results)
          end
          local want, got = text(f), text(object)
          if want ~= got then error(("function %d of %s (%d), dynamic=%s:\n  plain    %s\n  compiled %s"):format(i, n, k, dynamic, want, got), 0) end
        end
      end
    end
  end
end

-- A list that grows at every call.
function parts.growing()
  for _, backend in ipairs { "eager", "inductor" } do
    local function f(v, t) return v * #t, #t, #t + 1, #t > 2 end
    local object, t = tb.compile(f, { backend = backend }), {}
    for call = 1, 20 do
      t[#t + 1] = call
      local v = x()
      local want, got = plain.describe_all(table.pack(f(v, t))), plain.describe_all(table.pack(object(v, t)))
      assert(want == got, want .. " / " .. got)
    end
    local stats = tb.stats(object)
    assert(stats.entries <= 3, stats.entries)
  end
end

-- Each reason for a break, told with its detail.
function parts.reasons()
  local function reason(want, detail, f, ...)
    local object, before = tb.compile(f, { backend = "eager" }), tb.counters().breaks[want]
    pcall(object, ...)
    assert(tb.counters().breaks[want] > before, want)
    local seen = {}
    for _, b in ipairs(tb.stats(object).breaks) do
      seen[#seen + 1] = b.name .. " (" .. b.detail .. ")"
      if b.name == want and b.detail:find(detail, 1, true) then return end
    end
    error(("expected a break %s (%s), got: %s"):format(want, detail, table.concat(seen, "; ")), 2)
  end
  reason("C_FUNCTION", "os.clock", function() return os.clock() end)
  reason("C_FUNCTION", "math.random", function(v) return v * math.random() end, x())
  reason("C_FUNCTION", "collectgarbage", function(v) collectgarbage() return v end, x())
  reason("C_FUNCTION", "load", function(v) return v, load("return 1") end, x())
  reason("C_FUNCTION", "io.write", function(v) io.write("") return v end, x())
  reason("TENSOR_VALUE", "item", function(v) return v:sum():item() end, x())
  reason("TENSOR_VALUE", "format", function(v) return ("%s"):format(v) end, x())
  reason("SIDE_EFFECT", "__gc", function(v) setmetatable({}, { __gc = function() end }) return v end, x())
  reason("IN_PLACE", "add_", function(v) return v:add_(1) end, x())
  reason("METAMETHOD", "metatable", function(v) return getmetatable(v) end, x())
  local function down(n) if n == 0 then return 0 end return 1 + down(n - 1) end
  reason("INLINE_DEPTH", "inside of one another", function(v) return v + down(100) end, x())
  reason("LOOP_LENGTH", "turns", function(v) local n = 0 for i = 1, 300000 do n = n + i end return v + n end, x())
  reason("UNSUPPORTED_VALUE", "userdata", function(v) return io.stdout.field, v end, x())
  reason("COROUTINE", "running", function(v) return v, coroutine.running() end, x())
  reason("PROTECTED_CALL", "level 4", function(v) return v, pcall(function() error("far", 4) end) end, x())
  reason("TO_BE_CLOSED", "<close>", function(v) local c <close> = setmetatable({}, { __close = function() end }) return v end, x())
  reason("RUNTIME_ERROR", "error", function(v) error("out") end, x())
  reason("RUNTIME_ERROR", "divided by zero", function(v) return v, 1 // 0 end, x())
  reason("TABLE_ORDER", "holes", function(v) local t = { 1, nil, 3 } return v, #t end, x())
  reason("TABLE_ORDER", "new keys", function(v, t) t.new = 1 for k in pairs(t) do v = v + 1 end return v end, x(), { old = 1 })
  reason("RESULTS", "relu", function() return tb.zeros(2).relu end)
  reason("GRAPH_SIZE", "operations in one graph", function(v) for _ = 1, 140000 do v = -v end return v end, x())
  reason("DISABLED", "disable", function(v) return tb.disable(function(a) return a end)(v) end, x())
  local object = tb.compile(function(v) return v + 1 end, { backend = "eager", options = { break_at = 1 } })
  object(x())
  assert(tb.stats(object).breaks[1].name == "FORCED")
  local sum, counters = 0, tb.counters()
  for name, count in pairs(counters.breaks) do
    sum = sum + count
    if count == 0 then error("nothing here reaches " .. name) end
  end
  assert(sum == counters.graph_breaks, sum)
end

function parts.modules()
  package.loaded.a_module_of_this_test = { scale = 3 }
  whole("require of what is loaded", function()
    return function(v) local m = require "a_module_of_this_test" return v * m.scale, require("string") == string end, x()
  end)
  local object = tb.compile(function(v) return v * require("a_module_of_this_test").scale end)
  assert(plain.describe(object(x())) == plain.describe(x() * 3))
  package.loaded.a_module_of_this_test = { scale = 5 }
  assert(plain.describe(object(x())) == plain.describe(x() * 5))
  package.loaded.a_module_of_this_test = nil
  package.preload.a_module_of_this_test = function() return { scale = 7 } end
  assert(plain.describe(object(x())) == plain.describe(x() * 7))
  package.loaded.a_module_of_this_test = nil
  package.preload.a_module_of_this_test = nil
  any("require of what is missing", function() return function(v) return v, (pcall(require, "no_such_module_here")) end, x() end)
end

parts[part]()
