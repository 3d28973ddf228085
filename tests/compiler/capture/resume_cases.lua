-- Functions in the order of the Lua manual, each with arguments, made anew for each run. A function may call `log` (what it
-- logs counts as a result). Errors are wanted too: their messages are compared. Run by resume.lua.
local cases = {}
local function case(name, make) cases[#cases + 1] = { name = name, make = make } end
-- Of a loop that owes a call at its end: a frame inside of it must not be left (resume.h), so no run is given up half-way.
local function case_of_closing(name, make) cases[#cases + 1] = { name = name, make = make, runs_whole = true } end
-- What such a function returns is called.
local function case_of_closures(name, make) cases[#cases + 1] = { name = name, make = make, gives_functions = true } end
-- Of a function that looks at its own lines; a run that is to be given up half-way has others.
local function case_of_lines(name, make) cases[#cases + 1] = { name = name, make = make, runs_whole = true } end

-- 2.1 values, 2.4 metatables
case("values", function() return function() local a, b, c, d = nil, true, false, "text"; return a, b, c, d, 1, 1.0, 0x7fffffff, 1e308, {}, #"x" end end)
case("constants", function() return function(x) local t = { x == 1, x == "s", x == nil, x == true, x == 1.5, x ~= 70000 } return t, 70000, -70000, 3.0, 1e15 end, 1 end)
local V = {}
V.__index = V
local function new(v) return setmetatable({ v = v }, V) end
local function number(a) return type(a) == "table" and a.v or a end
for name, f in pairs { add = function(a, b) return a + b end, sub = function(a, b) return a - b end, mul = function(a, b) return a * b end, div = function(a, b) return a / b end,
  mod = function(a, b) return a % b end, pow = function(a, b) return a ^ b end, idiv = function(a, b) return a // b end, band = function(a, b) return a & b end, bor = function(a, b) return a | b end,
  bxor = function(a, b) return a ~ b end, shl = function(a, b) return a << b end, shr = function(a, b) return a >> b end, concat = function(a, b) return a .. b end } do
  V["__" .. name] = function(a, b) return new(f(number(a), number(b))) end
end
V.__unm = function(a) return new(-a.v) end
V.__bnot = function(a) return new(~a.v) end
V.__len = function(a) return a.v end
V.__eq = function(a, b) return a.v == b.v end
V.__lt = function(a, b) return number(a) < number(b) end
V.__le = function(a, b) return number(a) <= number(b) end
V.__call = function(self, ...) return self.v, ... end
case("metamethods of operators", function()
  return function(a, b, k)
    return (a + b).v, (a + 1).v, (1 + a).v, (a - b).v, (a - 1).v, (k - a).v, (a * 3).v, (3 * a).v, (a / 2).v, (a % 2).v, (a ^ 2).v, (a // 2).v, (a & 1).v, (1 & a).v, (a | 4).v, (a ~ 1).v, (a << 1).v, (1 << a).v, (a >> 1).v, (a << b).v, (a >> b).v, (-a).v, (~a).v, #a, (a .. b).v, (a .. "0" .. 1).v
  end, new(6), new(2), 5
end)
case("metamethods of comparisons", function()
  return function(a, b) return a == b, a ~= b, a < b, a <= b, a > b, a >= b, a < 3, a <= 3, a > 3, a >= 3, 3 < a, a == 3, not (a < b), a < b and 1 or 2 end, new(6), new(2)
end)
case("metamethods of calls and indices", function()
  local t = setmetatable({}, { __index = function(_, k) return k .. "?" end, __newindex = function(_, k, v) log(k, v) end })
  return function(a, t) t.x = 1; t[1] = 2; t[a.v] = a.v; return a(1, 2), t.y, t[2.5 .. ""], (a(t.z)) end, new(3), t
end)
-- 3.3 statements
case("blocks and scopes", function() return function(a) local x = a; do local x = x + 1; log(x) do local x = x * 2; a = x end end return x, a end, 4 end)
case("assignments", function() return function(t) local i = 1; i, t[i] = i + 1, 20; t.a, t.b, t.c = 1, 2; t.a, t.b = t.b, t.a; local x, y, z = (function() return 1, 2, 3 end)(); return i, t, x, y, z end, {} end)
case("while", function() return function(n) local s = 0; while n > 0 do s = s + n; n = n - 1 end return s end, 4 end)
case("while of one instruction", function() local n = 0; return function(t) while t.x do end return n end, setmetatable({}, { __index = function(t) n = n + 1; return n < 4 end }) end)
case("repeat", function() return function(n) local s = 0; repeat local done = n <= 1; s = s + n; n = n - 1 until done; return s end, 4 end)
case("repeat with a captured local", function() return function(n) local fs = {}; repeat local k = n; fs[#fs + 1] = function() return k end; n = n - 1 until k < 2; local s = 0; for _, f in ipairs(fs) do s = s * 10 + f() end return s end, 3 end)
case("if", function() return function(a, b) if a then log(1) elseif b then log(2) else log(3) end; if not a and b then log(4) end; if a == b then return 1 elseif a ~= nil then return 2 end end, nil, 7 end)
case("goto", function() return function(n) local i, s = 0, 0; ::top:: i = i + 1; if i > n then goto done end; if i % 2 == 0 then goto top end; s = s + i; goto top; ::done:: return s, i end, 5 end)
case("break", function() return function() local s = 0; for i = 1, 5 do for j = 1, 5 do if j == i then break end; s = s + j; if s > 9 then goto out end end end ::out:: return s end end)
case("numeric for", function() return function(a, b, c) local s = {}; for i = a, b, c do s[#s + 1] = i end; for i = 3, 1 do log(i) end; for i = 1, 3 do end; for i = 5, 1, -2 do s[#s + 1] = i end; return s end, 1, 7, 3 end)
case("float for", function() return function() local s = {}; for v = 0.5, 2, 0.5 do s[#s + 1] = v end; for v = 1, 0, -0.25 do s[#s + 1] = v end; for v = 1.0, 0 do log(v) end; return s end end)
case("for at the limits", function() return function() local n = 0; for i = math.maxinteger - 1, math.maxinteger do n = n + 1 end; for i = math.mininteger, math.mininteger + 1 do n = n + 1 end return n end end)
case("for with a bad start", function() return function(a) local s = 1; for i = a, 3 do s = s + i end return s end, "x" end)
case("for with a bad limit", function() return function(a)
  local s = 1
  for i = 1, a do s = s + i end
  return s
end, {} end)
case("for with step zero", function() return function(a) for i = 1, 3, a do log(i) end end, 0 end)
case("generic for", function() return function(t) local s = {}; for i, v in ipairs(t) do s[#s + 1] = i * v end; for k, v in next, t do s[#s + 1] = v end; for k in pairs {} do log(k) end return s end, { 4, 5, 6 } end)
case("generic for with an empty body", function() local n = 0; return function(f) for _ in f do end return n end, function() n = n + 1; if n < 4 then return n end end end)
case("generic for with state", function() return function() local s = 0; for a, b, c, d in function(t, k) if k < t then return k + 1, k * 2, nil, 7 end end, 3, 0 do s = s + a * b + d; if c then log(c) end end return s end end)
case("generic for over nothing callable", function() return function(t)
  local x = 1
  for k in t do x = x + 1 end
  return x
end end)
case_of_closing("generic for with a closing value", function() return function(f)
  local r = {}
  for i in f, nil, nil, setmetatable({}, { __close = function() log "closed" end }) do r[#r + 1] = i; if i == 2 then break end end
  log "after"
  return r
end, (function() local n = 0; return function() n = n + 1; if n < 5 then return n end end end)() end)
case_of_closing("generic for with a closing value from a variable", function() return function(f, c)
  local s = 0
  for i in f, nil, nil, c do s = s + i; log(s) end
  return s
end, (function() local n = 0; return function() n = n + 1; if n < 4 then return n end end end)(), setmetatable({}, { __close = function() log "closed" end }) end)
case("generic for with a false closing value", function() return function(t, c) local s = 0; for i, v in next, t, nil, c do s = s + v end return s end, { 3, 4 }, false end)
case("generic for with a bad closing value", function() return function() for k in next, {}, nil, 3 do log(k) end end end)
case("generic for inside of generic for", function() return function(t) local n = 0; for _, u in ipairs(t) do for k, v in pairs(u) do n = n + v; if v == 3 then goto next end end ::next:: end return n end, { { 1, 2 }, { 3, 4 }, {} } end)
case("local attributes", function() return function() local c <const> = 5; local x <const> = { 1 }; do local h <close> = setmetatable({}, { __close = function(_, e) log("close", e) end }); log(c) end return c + #x end end)
case("close in a loop, and errors", function() return function()
  for i = 1, 3 do local h <close> = setmetatable({}, { __close = function(_, e) log(i, tostring(e)) end }); if i == 2 then error("stop") end end
end end)
case("close with returns and breaks", function() return function(n) local function handle(k) return setmetatable({}, { __close = function() log(k) end }) end
  while true do local a <close> = handle "a"; n = n - 1; if n == 0 then break end; do local b <close> = handle "b"; if n == 5 then return "early" end end end return n, 2, 3 end, 3 end)
-- 3.4 expressions
case("arithmetic", function() return function(a, b) return a + b, a - b, a * b, a / b, a % b, a // b, a ^ b, -a, a + 1, a - 1, 1 - a, a * 2, a % 3, a / 4, a ^ 2, a // 3, 300 + a, a - 300, a + 0.5 end, 17, 5 end)
case("bits", function() return function(a, b) return a & b, a | b, a ~ b, a << b, a >> b, ~a, a & 15, a | 16, a ~ 3, a << 2, a >> 1, 2 << a, 1 >> 1, a << -1 end, 12, 2 end)
case("text as numbers", function() return function(s) return s + 1, s * "2", -s, s // 3, 10 .. s, s << 1, s & 3 end, "10" end)
case("comparisons", function() return function(a, b) return a < b, a <= b, a > b, a >= b, a == b, a ~= b, a < 4, a <= 4, a > 4, a >= 4, 4 < a, a == 4, a == 4.0, a ~= 4, a < 2.5 end, 3, 4.5 end)
case("logic", function() return function(a, b, c) local x = a and b; local y = b or c; local z = a and b or c; local w = (a or b) and (b or a); local v = not (a and b); local u = not c; return x, y, z, w, v, u, not b, a and 1, a or 1, b and 1, (a == nil and b == 0) or c end, nil, 0, false end)
case("conditions as values", function() return function(a) local x = a > 2; local y = not (a > 2) or a == 1; local t = { a < 1, a == 3, n = a >= 3 and a <= 3 }; return x, y, t, a == 3 == true end, 3 end)
case("concatenation", function() return function(a, b) return a .. b, a .. 1 .. b .. 2.5, "x" .. a, (a .. "y") .. "z" end, "p", "q" end)
case("length", function() return function(t, s) return #t, #s, #t + #s, #{ 1, 2, nil }, #"abc" end, { 1, 2, 3 }, "four" end)
case("table constructors", function() return function(a, ...) local function two() return 1, 2 end
  return { a, 2, 3 }, { ... }, { two() }, { two(), two() }, { (two()) }, { x = 1, ["y z"] = 2, [a] = 3, 4; 5 }, { ..., "end" }, { n = 1, ... } end, 9, "v", nil, "w" end)
case("a long list", function()
  local text = {}
  for i = 1, 130 do text[i] = "a + " .. i end
  return load("return function(a, f) local t = { " .. table.concat(text, ", ") .. ", f() } return #t, t[1], t[51], t[130], t[131], t[132] end")(), 5, function() return "x", "y" end
end)
case("a list with an extra argument", function()
  local text = {}
  for i = 1, 520 do text[i] = "a" end
  return load("return function(a, ...) local t = { " .. table.concat(text, ",") .. ", ... } return #t, t[520], t[521] end")(), 1, "o"
end)
case("many constants", function()
  local text = {}
  for i = 1, 300 do text[i] = ("t.f%d = 'c%d' .. t.f%d; s = s + %d.5"):format(i, i, i - 1, i) end
  return load("return function(t) local s = 0 " .. table.concat(text, "\n", 1, 3) .. "\n" .. table.concat(text, "\n", 290, 300) .. " local z = t.f1 == 'other' return s, t.f3, z end", "=many")(), { f0 = "s", f289 = "r" }
end)
-- 3.4.10, 3.4.11 calls and functions
case("calls", function() return function(f, o) f(); f(1); local a = f(2, 3); local b, c = f(4); local d = (f(5)); log(f(6), f(7)); return a, b, c, d, o:m(1), o.m(o, f(8)), f "s", f { 1 } end, function(...) return select("#", ...), ... end, { m = function(self, ...) return self ~= nil, ... end } end)
case("open results", function() return function(f, ...) return f(f(f(...))), { f(...) }, select("#", f(...)), f(1, f(2, ...)) end, function(...) return ..., select("#", ...) end, 1, nil, 3, nil end)
case("no open results", function() return function(f, ...) local t = { f() }; local u = { ... }; log(f()); log(f(...)); return #t, #u, f(f()), ... end, function() end end)
case("a return of open results", function() return function(f, ...) local n = select("#", ...); if n > 1 then return f, f(...) end return ... end, function(...) return ... end, 1, 2 end)
case("tail calls", function() local function loop(n, s) if n == 0 then return s, "end" end return loop(n - 1, s + n) end return function(n) return loop(n, 0) end, 5 end)
case("tail calls of C functions", function() return function(...) return select(2, ...) end, "a", "b", "c" end)
case("a tail call of itself", function() local f; function f(n, s) if n == 0 then return s end return f(n - 1, s .. n) end return f, 4, "" end)
case("recursion", function() local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end return fib, 6 end)
case("a local function that calls itself", function() return function(n) local function f(k) if k == 0 then return 1 end return k * f(k - 1) end return f(n), f(3) end, 4 end)
case("variable arguments", function() return function(a, ...) local x, y, z = ...; local n = select("#", ...); local t = table.pack(...); log(...); return x, y, z, n, t, (...), ... end, 1, "p", nil, "q", nil end)
case("only variable arguments", function() return function(...) local s = 0; for i = 1, select("#", ...) do s = s + (select(i, ...)) end return s, ... end, 1, 2, 3 end)
case("missing arguments", function() return function(a, b, ...) local c = b; return a, b, c, select("#", ...) end, 1 end)
case("methods", function() local C = {}; C.__index = C; function C.new(x) return setmetatable({ x = x }, C) end; function C:add(y) self.x = self.x + y; return self end; return function(y) return C.new(1):add(2):add(y).x end, 3 end)
-- 3.5 captured variables
case("a captured constant", function() return function(a) local k = a * 2; local f = function() return k end; return f() + k, f end, 4 end)
case("a captured variable that its function writes", function() return function(a) local n = a; local function up() n = n + 1; return n end; up(); up(); return n, up() end, 4 end)
case("a captured variable that the frame writes", function() return function(a) local n = a; local function get() return n end; n = n + 1; log(get()); n = n + 1; return get() end, 4 end)
case("a counter that the frame does not read", function() return function(a) local n = a; local function up() n = n + 1; return n end; log(up()); log(up()); return up() end, 4 end)
case("two closures on one variable", function() return function(a) local n = a; local function up() n = n + 1 end; local function get() return n end; up(); log(get()); up(); return get() end, 4 end)
case("closures made late", function() return function(a) local n = a; local function get() return n end; log(get()); local function up() n = n + 1 end; up(); return get() end, 4 end)
case("captured in a nested function", function() return function(a) local n = a; local function outer() return function() n = n + 1; return n end end; local f = outer(); f(); return f(), n end, 1 end)
case("captured loop variables", function() return function() local fs = {}; for i = 1, 3 do fs[i] = function() i = i + 1; return i end end; for i, f in ipairs(fs) do log(f(), f()) end; local gs = {}; for k, v in pairs { 7 } do gs[1] = function() return k + v end end return gs[1]() end end)
case("captured in a loop that goes on", function() return function() local fs = {}; local i = 0; while i < 3 do i = i + 1; local j = i; if j == 2 then goto continue end; fs[#fs + 1] = function() j = j + 1; return j end; ::continue:: end return fs[1](), fs[1](), fs[2]() end end)
case("captured and out of scope", function() return function() local f; do local x = 1; f = function() x = x + 1; return x end end; local y = 10; y = y + f(); return y + f() end end)
case_of_closures("closures that outlive the frame", function() return function(a, b) local n, m = a, b; local function get() return n, m end; local x = a + b; local function add() m = m + 1; return m + x end; return get, add, function() return a, b end end, 3, 4 end)
case_of_closures("closures that outlive a frame with variable arguments", function() return function(a, ...) local n, m = a, ...; local function get() return n, m end; local x = a + m; return function() return x, n end, get, ... end, 3, 4 end)
case("captured parameters", function() return function(a, b) local f = function() return a, b end; b = b + 1; return f() end, 1, 2 end)
case("upvalues", function() local u, w = 1, {}; return function(a) u = u + a; w.x = u; w[u] = a; local f = function() u = u * 2; return u end; return f(), u, w end, 2 end)
case("globals", function() return function(a) made_here = a; local x = made_here; made_here = nil; return x, made_here, math.floor(2.5), _ENV ~= nil end, 3 end)
case("_ENV as a local", function() return function(t) local _ENV = t; x = 1; y = x; return y, z end, { z = 5 } end)
-- errors: names, lines, levels
local function fails(name, body, ...)
  local arguments = table.pack(...)
  case("error: " .. name, function() return load("local up, deep = ...\nreturn function(a, b, ...)\n local t, none = { f = {} }\n " .. body .. "\nend", "@errors.lua")(nil, {}), table.unpack(arguments, 1, arguments.n) end)
end
fails("a global", "log(1)\n absent_function(1)")
fails("a field of a global", "return math\n.absent(1) + 1")
fails("a field", "local x = t.f.g(1)\n return x")
fails("a field by a call", "return (t.g(1))")
fails("a method", "t:absent(2)\n return 1")
fails("a method of nil", "local x = a.x\n x:m()", {})
fails("a local", "none()\n return 1")
fails("an upvalue", "up()\n return 1")
fails("a field of an upvalue", "deep.x.y = 1")
fails("an element", "return t[1][2]")
fails("an element by a variable", "local k = 'key'\n return t[k].x")
fails("a constant", "return ('x')()")
fails("arithmetic on a local", "local s = 1 + none\n return s")
fails("arithmetic on a field", "return 2 * t.f, t.x + 1")
fails("arithmetic on a field and a constant", "local c = t.x - 5\n return c")
fails("arithmetic on an upvalue", "return up // 2")
fails("arithmetic on text", "return 'x' + 1")
fails("arithmetic in a loop", "for i = 1, 3 do log(i)\n if i == 2 then log(t.x * i) end end")
fails("bits of a float", "return 1.5 & 1")
fails("bits of a local", "return a | none", 3)
fails("concatenation", "return 'x' .. a\n .. t.f", 1)
fails("concatenation of a local", "return a .. none", "x")
fails("comparison", "return a\n < t", 1)
fails("comparison with a number", "if t > 1 then return 1 end")
fails("length", "return #a", 5)
fails("length of a field", "return #t.x")
fails("minus", "return -t")
fails("an index of nil", "t.x[1] = 2")
fails("a nil index", "t[none] = 1")
fails("a call after a condition", "local g = a and t.f or b\n g(1)")
fails("a call after a jump", "local g = t.g\n if a then g = t.h end\n return g(1)", true)
fails("a temporary in a loop", "while true do local x = t.f\n x.y.z = 1 end")
fails("error with a level", "error('two', 2)")
fails("error of a table", "error({ code = 1 })")
fails("error in a callee", "local function g() error('inner') end\n g()")
fails("assert", "assert(a, 'message')", false)
fails("in a tail call", "return absent(1)")
fails("a bad argument", "return math.floor(a)", "x")
fails("a bad argument of a method", "return a:rep({})", "x")
fails("in variable arguments", "return (...).x.y", 1, 2, {})
-- 2.6 coroutines, protected calls
case("yields", function() return function(n)
  local co = coroutine.wrap(function(a) local s = a; for i = 1, 3 do s = s + coroutine.yield(s) end return s end)
  return co(n), co(2), co(3), co(4)
end, 1 end)
case("protected calls", function() return function(f) local ok, e = pcall(f, 1); local a, b = pcall(error, { 1 }); local c, d = xpcall(f, function(m) return "handled " .. m end, 2); return ok, e, a, type(b), c, d, pcall(pcall, error) end, function(n) error("f" .. n, 0) end end)
case("names of local variables, seen from metamethods and iterators", function()
  local function names() local list, n, name = {}, 1, debug.getlocal(3, 1); while name and n < 9 do if name:match("^[(%w]*[%w ]*%)?$") and name ~= "(temporary)" then list[#list + 1] = name end n = n + 1; name = debug.getlocal(3, n) end log(table.concat(list, " ")) end
  local t = setmetatable({}, { __lt = function() names() return true end, __eq = function() names() return true end, __index = function() names() return 1 end })
  return function(a, b, n) local x = n; if a < b then x = x + a.y end; for i in function(_, k) names() if not k then return x end end do local z = a == b; x = x + i end return x, a <= 3 end, t, setmetatable({}, getmetatable(t)), 4
end)
case_of_lines("its own lines", function() return function(n)
  local function here() return debug.getinfo(2, "l").currentline end
  local a = here()
  local b = here() +
    here()
  for i = 1, n do
    a = a * 10 + here()
  end
  return a, b, debug.traceback("text", 1):match(":%d+:")
end, 2 end)
case("a function with many locals", function()
  local names, sum = {}, {}
  for i = 1, 120 do names[i] = "v" .. i; sum[i] = "v" .. i .. " = v" .. (i % 120 + 1) .. " + " .. i end
  return load("return function(" .. table.concat(names, ", ") .. ") " .. table.concat(sum, "; ") .. " return v1, v60, v120 end")(), (function() local t = {} for i = 1, 120 do t[i] = i end return table.unpack(t) end)()
end)
case("lines far apart", function() return load("return function(a)" .. ("\n"):rep(300) .. "local x = a + 1" .. ("\n"):rep(2000) .. "x = x * 2" .. ("\n"):rep(128) .. "return x + nothing end", "@far.lua")(), 1 end)
return cases
