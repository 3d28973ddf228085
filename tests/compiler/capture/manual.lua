-- Functions by the sections of the Lua 5.4 manual, beside those of resume_cases.lua: what needs tensors, the collector, the
-- libraries, and code that is too large to be written down. Each with arguments, made anew for each run; `log` counts as a result.
-- Argument: tb. Returns the list, with the section of each.
local tb = ...
local cases = {}
local section
local function case(name, make) cases[#cases + 1] = { section = section, name = name, make = make } end
local function x() return tb.tensor({ { 1.5, -2 }, { 0.25, 4 } }, { dtype = "f32" }) end

section = "2.4 metatables"
case("arithmetic of tensors", function() return function(v, k) return v + 1, 2 * v, v - v, v / k, -v, v % 3, v ^ 2, k - v, v // 2 end, x(), 2 end)
case("operators of tables around tensors", function()
  local M = { __add = function(a, b) return (a.v or a) + (b.v or b) end, __unm = function(a) return -a.v end, __concat = function(a) return a.v * 3 end, __len = function(a) return a.v:size(1) end }
  return function(v) local a = setmetatable({ v = v }, M) return a + 1, v:sum() * #a, -a, a .. "x", (a + a) end, x()
end)
case("__index and __newindex by tables and functions", function()
  local base, log_of = { k = 3 }, {}
  return function(v)
    local t = setmetatable({}, { __index = setmetatable({ m = 2 }, { __index = base }), __newindex = function(t, k, w) log_of[#log_of + 1] = k rawset(t, k, w) end })
    t.a = v * t.k
    t.a = t.a + t.m
    t[1] = t.none
    return t.a, #log_of, rawlen(t), t.k == 3
  end, x()
end)
case("__call with arguments and results", function()
  local f = setmetatable({ n = 1 }, { __call = function(self, a, ...) self.n = self.n + 1 return a, self.n, ... end })
  return function(v, ...) local a, n = f(v * 2, ...) return a, n, f(...) end, x(), "p", nil, "q"
end)
case("__eq, __lt, __le", function()
  local M = {}
  M.__eq, M.__lt, M.__le = function(a, b) log("eq") return a.v == b.v end, function(a, b) log("lt") return a.v < b.v end, function(a, b) log("le") return a.v <= b.v end
  local function new(v) return setmetatable({ v = v }, M) end
  return function(a, b, v) if a == b then v = v + 1 end if a < b then v = v * 2 end if a <= b then v = v - 1 end if a > b or a >= b then v = -v end return v, a ~= b, not (a == b) end, new(1), new(2), x()
end)
case("__close sees the error", function() return function(v)
  local ok, e = pcall(function() local c <close> = setmetatable({}, { __close = function(_, e) log(tostring(e)) end }) error("inside", 0) end)
  return v * 2, ok, e
end, x() end)

-- When a value that nothing names any more is collected is left open by the manual: a register may still hold it.
section = "2.5 garbage collection"
case("a full collection in the middle", function() return function(v) local y = v * 2 collectgarbage() local t = { y + 1 } collectgarbage("step") return t[1] + y end, x() end)
case("a weak table keeps what is in use", function() return function(v)
  local weak, key, list = setmetatable({}, { __mode = "k" }), {}, {}
  weak[key] = 4
  weak[list] = v
  collectgarbage()
  return v * weak[key], weak[list] == v, next(weak) ~= nil, list
end, x() end)
case("a weak table made outside", function()
  local weak = setmetatable({}, { __mode = "v" })
  local kept = { 3 }
  return function(v) weak.kept = kept weak[1] = v collectgarbage() return v + weak.kept[1], weak[1] == v, weak.kept == kept end, x()
end)
case("finalizers run once", function()
  local done = 0
  local function make() setmetatable({}, { __gc = function() done = done + 1 end }) end
  return function(v) make() local y = v * 2 make() collectgarbage() return y + 1, done <= 4 end, x()
end)
case("counting memory", function() return function(v) local n = collectgarbage("count") local y = v * 2 return y, math.type(n), collectgarbage("isrunning") end, x() end)

section = "2.6 coroutines"
case("a generator", function() return function(v, n) for i in coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) do v = v * i end return v end, x(), 3 end)
case("create, resume, status", function() return function(v)
  local co = coroutine.create(function(a) local b = coroutine.yield(a + 1) error("at " .. b, 0) end)
  local _, a = coroutine.resume(co, 1)
  local s = coroutine.status(co)
  local ok, e = coroutine.resume(co, 2)
  return v + a, s, ok, e, coroutine.status(co), coroutine.isyieldable(), select("#", coroutine.running())
end, x() end)
case("a compiled function in a coroutine", function() return function(v) return coroutine.wrap(function() local y = v * 2 coroutine.yield(y) return y end)() + 1 end, x() end)
case("coroutine.close", function() return function(v) local co = coroutine.create(function() local c <close> = setmetatable({}, { __close = function() log("closed") end }) coroutine.yield() end) coroutine.resume(co) return v * 2, coroutine.close(co) end, x() end)

section = "3.3 statements"
case("loops over tensors", function() return function(v) for i = 1, 3 do v = v + i end for i = 2, 1, -0.5 do v = v * i end local i = 0 while i < 2 do i = i + 1 v = -v end repeat v = v / 2 i = i - 1 until i <= 0 return v, i end, x() end)
case("loops at the bounds of integers", function() return function(v)
  for i = math.maxinteger - 1, math.maxinteger do v = v + 1 end
  for i = math.mininteger + 1, math.mininteger, -1 do v = v + 1 end
  for i = 1, 0 do v = nil end
  for i = 3, math.huge, math.maxinteger // 2 do v = v + 1 end
  for i = 1, -math.huge do v = nil end
  return v
end, x() end)
case("goto, both ways", function() return function(v, n) local i = 0 ::top:: i = i + 1 if i > n then goto done end v = v + i for k = 1, 3 do if k == 2 then goto next end v = v * k ::next:: end goto top ::done:: return v, i end, x(), 3 end)
case("multiple assignment is in order", function() return function(v, t) local i = 1 i, t[i], t[i + 1] = i + 1, v, v * 2 t.a, t.b = t.b, t.a v, t = t[1] + t[2], t return v, i, t end, x(), { a = 1, b = 2 } end)
case("to-be-closed variables between tensors", function() return function(v) local y = v + 1 do local c <close> = setmetatable({}, { __close = function() log("one") end }) local d <close> = nil y = y * 2 log("in") end return y - v end, x() end)
case("a generic for with a closing value", function() return function(v) local n = 0 for i in function(_, k) k = (k or 0) + 1 if k < 4 then return k end end, nil, nil, setmetatable({}, { __close = function() log("end") end }) do v = v * i n = n + 1 end return v, n end, x() end)

section = "3.4 expressions"
case("integers wrap, floats do not", function() return function(v, m, n) return v, m + 1, m * 2, n - 1, n // -1, n % -1, m + 1.0, m == m + 0.0, 1 // 0.0, -1 % math.huge, 5 % -3, -5 // 3, 5.5 // -2, 3 | 2.0, 1 << 63, 1 << 64, -1 >> 1, 2 ^ 0.5 end, x(), math.maxinteger, math.mininteger end)
case("conditions over tensors and numbers", function() return function(v, n, s) local a = v and n or s local b = n > 2 and v or nil local c = not (n == 3 and s ~= "a") if v and (n >= 3 or s < "b") then v = v * 2 end return v, a, b, c, n == 3.0, 2 < n, n <= 3, "3" == n end, x(), 3, "a" end)
case("numbers from text", function() return function(v, s) return v * s:len(), s + 1, s * "2", -s, s .. 1, 10 .. s, s // 4, math.type(s + 0), s << 1 end, x(), "10" end)
case("a list of many tensors", function()
  local text = {}
  for i = 1, 60 do text[i] = "v + " .. i end
  return load("return function(v, f) local t = { " .. table.concat(text, ", ") .. ", f(v) } return #t, t[1], t[60], t[61], t[62] end")(), x(), function(v) return v, v * 2 end
end)
case("a table of a given size and a list beyond 512 items", function()
  local text = {}
  for i = 1, 520 do text[i] = "n" end
  return load("return function(v, n, ...) local t = { a = v, b = n, " .. table.concat(text, ",") .. ", ... } return v * #t, t[520], t[521], t.a end")(), x(), 1, "o"
end)
case("constants beyond 17 bits", function()
  local text = {}
  for i = 1, 131100 do text[i] = "y=" .. i .. ".5" end
  return load("return function(v, skip) local y if not skip then " .. table.concat(text, "\n") .. " end y = 131101.25 v = v * 2 if skip then log(y) end return v + y end", "=far")(), x(), true
end)
case("open results", function() local function all(...) return ... end return function(v, ...) return all(v, all(v * 2, ...)), { all(...) }, select("#", all(...), ...), (all(v, 1)), all(), all(v + 1, all()) end, x(), 1, nil, "z" end)
case("variable arguments of tensors", function() return function(...) local a, b, c = ... local t, n = { ... }, select("#", ...) return a * n, b, c, #t, table.pack(...).n, select(-1, ...), ... end, x(), 2, "three" end)
case("closures over tensors that change", function() return function(v) local n, y = 0, v local function up(k) n = n + k y = y * 2 return n end up(1) up(2) v = v + n local z = y n = 10 return v, up(1), y - z, n end, x() end)
case("a tail call of a method", function() local C = {} C.__index = C function C:go(v, n) if n == 0 then return v, self.k end self.k = self.k + 1 return self:go(v + self.k, n - 1) end return function(v) return setmetatable({ k = 1 }, C):go(v, 3) end, x() end)

section = "6.1 basic functions"
case("error and its levels", function() return function(v) local function f(l) error("msg", l) end local a, b = pcall(f, 1) local c, d = pcall(f, 2) local e, g = pcall(f, 0) local h, i = pcall(error, { v }) local j, k = pcall(error) return v, a, b, c, d, e, g, h, i, j, k end, x() end)
case("xpcall with a handler", function() return function(v) local a, b = xpcall(function(k) return v.none.x + k end, function(m) log("handled") return m .. "!" end, 1) local c, d = xpcall(function(...) return v * 2, ... end, log, 5) return a, b, c, d end, x() end)
case("an error through frames", function() return function(v) local function deep(n) if n == 0 then local t = nil return t.x end local r = deep(n - 1) return r end local ok, e = pcall(deep, 3) log(e) v = v * 2 deep(1) return v end, x() end)
case("select, tonumber, tostring, type", function() return function(v, ...) return v, select(2, ...), select("#", ...), tonumber("0x1F"), tonumber("z", 36), tonumber("1e1"), tonumber(" 7 "), tonumber("7x"), tostring(1e15), tostring(-0.0), type(v), type(nil) end, x(), 1, 2, 3 end)
case("next, pairs, ipairs, raw*", function() return function(v, t) local n, s = 0, {} for k, w in pairs(t) do n = n + w s[#s + 1] = k end for i, w in ipairs(t) do v = v * w end local k = next({}) rawset(t, "new", rawlen(t)) return v, n, #s, k, rawget(t, "new"), rawequal(t, t), t end, x(), { 2, 3, a = 4 } end)
case("load with an environment", function() return function(v, f) local env = { v = v } local g = load("w = v * 2 return w", "=g", "t", env) return g(), env.w, load("syntax error here") end, x() end)
case("assert gives its arguments", function() return function(v) local a, b = assert(v, "unused") local ok, e = pcall(assert, false) local o2, e2 = pcall(assert, nil, { 1 }) return a, b, ok, e, o2, e2 end, x() end)
case("metatables that are hidden", function() return function(v, t) local ok, e = pcall(setmetatable, t, {}) return v, getmetatable(t), ok, e, getmetatable("").__index == string end, x(), setmetatable({}, { __metatable = "hidden" }) end)

section = "6.4 strings"
case("pieces of text", function() return function(v, s) return v, s:sub(2, -2), s:upper(), s:rep(2, "-"), s:reverse(), s:byte(1, 3), s:len(), #s, string.char(72, 105), s:sub(-2), s:sub(9) end, x(), "Hello" end)
case("patterns", function() return function(v, s) local out = {} for k, w in s:gmatch("(%w+)=(%w+)") do out[#out + 1] = k .. w end local a, n = s:gsub("%d", function(d) log(d) return d + 1 end) return v, out, a, n, s:find("b="), s:match("(a)=(%d)"), s:gsub("a", { a = "A" }) end, x(), "a=1, b=2" end)
case("format and pack", function() return function(v, n) return v, ("%d %5.2f %s %q %x"):format(n, n, "t", "q\n", 255), string.unpack("<i4", string.pack("<i4", n)), ("%s"):format(nil), ("%g"):format(0.1) end, x(), 7 end)
case("utf8", function() return function(v, s) local n = 0 for p, c in utf8.codes(s) do n = n + c end return v * utf8.len(s), n, utf8.char(228, 8364), utf8.codepoint(s, 1) end, x(), "aä€" end)

section = "6.6 tables"
case("insert, remove, concat, unpack", function() return function(v, t) table.insert(t, 4) table.insert(t, 1, 0) local a, b = table.remove(t), table.remove(t, 1) v = v + #t return v, a, b, table.concat(t, ","), table.unpack(t, 2) end, x(), { 1, 2, 3 } end)
case("sort and move", function() return function(v, t) table.sort(t) local a = table.concat(t, " ") table.sort(t, function(p, q) return p > q end) local u = table.move(t, 1, 2, 3, {}) return v, a, t, u, select("#", table.unpack({}, 1, 2)) end, x(), { 3, 1, 2 } end)
case("lists of tensors", function() return function(v) local t = table.pack(v, v * 2, nil) t[#t + 1] = v table.insert(t, 1, v - 1) return t[1] + t[2], t.n, #t end, x() end)

section = "6.7 mathematics"
case("functions of numbers", function() return function(v, n, r) return v * math.floor(r), math.ceil(r), math.max(n, r, 1), math.min(n, r), math.abs(-n), math.sqrt(16), math.fmod(-7, 3), math.modf(r), math.tointeger(3.0), math.tointeger("8"), math.ult(1, -1), math.type(n), math.type(r), math.type("1"), math.exp(0), math.log(8, 2) end, x(), 7, 2.5 end)
case("random numbers are not folded", function() return function(v) math.randomseed(42) local a, b = math.random(10), math.random(10) math.randomseed(42) return v * 2, a == math.random(10), b == math.random(10) end, x() end)

section = "6.9, 6.10 systems and debug"
case("the clock and the environment", function() return function(v) local t = os.time({ year = 2020, month = 1, day = 1, hour = 12 }) return v + 1, type(t), os.getenv("NO_SUCH_VARIABLE"), type(os.clock()) end, x() end)
case("debug sees the plain function's lines", function() return function(v)
  local here = debug.getinfo(1, "l").currentline
  local y = v * 2
  return y, debug.getinfo(1, "l").currentline - here
end, x() end)

return cases
