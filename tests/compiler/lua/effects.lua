-- Writes that captured code makes to what is outside of it, and the objects that it makes: after each call the whole world must be
-- as the plain function leaves it: values, which of them are one object, the order of next, lengths, metatables, variables
-- that functions share. Run by test_lua_effects.c with the name of a part, and the seeds of random programs.
local part, tests, first_seed, n_seeds = ...
local stress = stress or function() end -- a global of the test: full collections at each allocation, on and off
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local parts = {}

-- --- a world as text ---

-- The order of next: not under the collector, which may free a key's place in between.
local in_order = true
local function keys_of(t)
  local keys = {}
  for k in next, t do keys[#keys + 1] = k end
  if not in_order then table.sort(keys, function(a, b) return tostring(a) < tostring(b) end) end
  return keys
end

local function describe_world(...)
  local numbers, count, out = {}, 0, {}
  local function add(text) out[#out + 1] = text end
  local visit
  local function visit_object(v)
    if numbers[v] then return add("<" .. numbers[v] .. ">") end
    count = count + 1
    numbers[v] = count
    add(type(v) .. count)
    if tb.is_tensor(v) then return add(plain.describe(v)) end
    if type(v) == "function" then
      for i = 1, 255 do
        local name, value = debug.getupvalue(v, i)
        if not name or debug.getinfo(v, "S").what == "C" then break end
        local id = debug.upvalueid(v, i)
        if not numbers[id] then
          count = count + 1
          numbers[id] = count
        end
        add((i == 1 and "(" or ", ") .. name .. "@" .. numbers[id] .. "=")
        if name == "_ENV" or name == "tb" then add("…") else visit(value) end
      end
      return add(")")
    end
    add("#" .. rawlen(v) .. "{")
    for _, k in ipairs(keys_of(v)) do
      add(" ")
      visit(k)
      add("=")
      visit(rawget(v, k))
    end
    add("}")
    if debug.getmetatable(v) then
      add("^")
      visit(debug.getmetatable(v))
    end
  end
  function visit(v)
    if type(v) == "table" or type(v) == "function" or tb.is_tensor(v) then return visit_object(v) end
    if type(v) == "string" then return add(("%q"):format(v)) end
    add(tostring(v))
  end
  for i = 1, select("#", ...) do
    if i > 1 then add(" | ") end
    visit((select(i, ...)))
  end
  return table.concat(out)
end

-- make(C) gives a driver, which is called with `report`, and reports the world as often as it likes. Captured: without a break.
local function check(name, make, captured)
  local function run(wrap)
    local texts = {}
    local driver = make(wrap)
    tb.manual_seed(3)
    driver(function(...) texts[#texts + 1] = describe_world(...) end)
    return texts
  end
  local want = run(function(f) return f end)
  for _, backend in ipairs { "eager", "inductor" } do
    local objects = {}
    local got = run(function(f)
      objects[#objects + 1] = tb.compile(f, { backend = backend })
      return objects[#objects]
    end)
    for i = 1, math.max(#want, #got) do
      if want[i] ~= got[i] then error(("%s, %s, report %d:\n  plain    %s\n  compiled %s"):format(name, backend, i, want[i], got[i]), 0) end
    end
    for _, object in ipairs(captured and objects or {}) do
      local stats = tb.stats(object)
      if #stats.fallbacks > 0 then error(name .. ": " .. stats.fallbacks[1], 0) end
      if stats.entries == 0 then error(name .. ": nothing was compiled", 0) end
    end
  end
end

-- As check, where the driver calls the function three times with the same arguments, and the world is what `make` returns
-- behind the function: its arguments.
local function check_calls(name, make)
  check(name, function(C)
    local made = table.pack(make())
    local f = C(made[1])
    return function(report)
      for _ = 1, 3 do
        local results = table.pack(f(table.unpack(made, 2, made.n)))
        report(table.unpack(results, 1, results.n))
        report(table.unpack(made, 1, made.n))
      end
    end
  end, true)
end

local x = tb.tensor { 1, 2, 3 }

function parts.fields()
  check_calls("a field of an argument", function() return function(t, v) t.last = v + 1 return t.last * 2 end, {}, x end)
  check_calls("written twice, read between", function()
    return function(t) t.x = 1 local a = t.x t.x = a + 1 t.y = t.x return t.x, t.y, a end, { x = 5, z = 7 }
  end)
  check_calls("the old value is handed on", function() return function(t) local old = t.x t.x = "new" return old, { old } end, { x = { 1 } } end)
  check_calls("values swap", function() return function(t) t.a, t.b = t.b, t.a return t.a end, { a = "p", b = { 2 } } end)
  check_calls("removed", function() return function(t) t.a = nil t.b = nil t.c = 3 return t.a, t.b, t.c end, { a = 1, b = 2, d = 4 } end)
  check_calls("removed and set again", function() return function(t) t.a = nil t.a = 9 return t.a end, { a = 1, b = 2 } end)
  check_calls("set and removed", function() return function(t) t.n = 9 t.n = nil return t.n end, { b = 2 } end)
  check_calls("many keys, which make the table grow", function()
    return function(t) for i = 1, 40 do t["k" .. i] = i if i % 3 == 0 then t["k" .. i - 1] = nil end end end, { old = 1 }
  end)
  check_calls("keys of all kinds", function()
    return function(t) t[1.0] = "one" t[2.5] = "f" t[true] = false t[-1] = 0 t[2 ^ 53] = "big" return t[1], t[2^53 | 0] end, {}
  end)
  check_calls("an object as key", function() local key = {} return function(t, k) t[k] = (t[k] or 0) + 1 return t[k] end, {}, key end)
  check_calls("tensors", function() return function(t, v) t.sum = (t.sum or v) + v t.same = t.sum return t.sum end, {}, x end)
  check_calls("rawset, table.insert, table.remove", function()
    return function(t)
      rawset(t, "r", 1)
      table.insert(t, "end")
      table.insert(t, 1, "front")
      local last = table.remove(t)
      local first = table.remove(t, 1)
      return first, last, #t, rawlen(t)
    end, { "a", "b" }
  end)
  check_calls("appended", function() return function(t, v) t[#t + 1] = v t[#t + 1] = #t return #t end, { 1, 2, 3 }, x end)
  check_calls("a global", function()
    EFFECT_GLOBAL = nil
    return function() EFFECT_GLOBAL = (EFFECT_GLOBAL or 0) + 1 return EFFECT_GLOBAL end
  end)
  EFFECT_GLOBAL = nil
end

function parts.order()
  check_calls("next over a written table", function()
    return function(t)
      local text = ""
      t.a, t.b = 10, nil
      for k, v in pairs(t) do text = text .. k .. "=" .. v .. " " end
      return text
    end, { a = 1, b = 2, c = 3 }
  end)
  check_calls("assignments in a traversal", function()
    return function(t) for k, v in pairs(t) do if v == 2 then t[k] = nil else t[k] = v * 10 end end end, { a = 1, b = 2, c = 3 }
  end)
  check_calls("new tables", function()
    return function()
      local t = { x = 1, y = 2, z = 3 }
      t.x = nil
      for i = 1, 9 do t["n" .. i] = i end
      t.n3, t.n4 = nil, nil
      t.n3 = "again"
      local text = ""
      for k, v in pairs(t) do text = text .. k .. "=" .. v .. " " end
      return text, t
    end
  end)
  check_calls("constructors with open results", function()
    local function three() return 1, nil, 3 end
    return function(...) return { ... }, { three() }, { 9, three() }, { x = 1, three() }, table.pack(three()) end, 7, 8, 9
  end)
end

function parts.aliases()
  check("two arguments become one", function(C)
    local f = C(function(a, b) a.x = 1 b.x = 2 return a.x, b.x, a == b end)
    local p, q = { x = 0 }, { x = 0 }
    return function(report)
      report(f(p, q)) report(p, q)
      report(f(p, p)) report(p, q)
      report(f(q, p)) report(p, q)
      report(f(q, q)) report(p, q)
    end
  end, true)
  check("a read behind a write", function(C)
    local f = C(function(a, b) local before = b.x a.x = before + 1 return b.x end)
    local p, q = { x = 0 }, { x = 10 }
    return function(report)
      for _, pair in ipairs { { p, q }, { p, p }, { q, p }, { p, q }, { q, q } } do report(f(pair[1], pair[2])) report(p, q) end
    end
  end, true)
  check("a length, an order and a metatable behind a write", function(C)
    local length = C(function(a, b) a[#a + 1] = 1 return #b end)
    local order = C(function(a, b) a.y = nil local s = "" for k in pairs(b) do s = s .. k end return s end)
    local meta = C(function(a, b) setmetatable(a, { __index = { z = 5 } }) return b.z end)
    local fresh = function() return { 1, 2 }, { 3, 4, x = 1, y = 2 } end
    return function(report)
      for i = 1, 3 do
        local p, q = fresh()
        report(length(p, q)) report(length(p, p), p)
        p, q = fresh()
        report(order(q, q), q) p, q = fresh() report(order(p, q), p, q)
        p, q = fresh()
        report(meta(p, q), p, q) p, q = fresh() report(meta(p, p), p)
      end
    end
  end)
  check("by a field", function(C)
    local f = C(function(a, b) a.child.v = 7 return b.child.v end)
    local one, two = { v = 1 }, { v = 2 }
    local p, q = { child = one }, { child = two }
    return function(report)
      report(f(p, q), p, q)
      q.child = one
      one.v = 0
      report(f(p, q), p, q)
      p.child = two
      report(f(p, q), p, q)
    end
  end, true)
  check("many tables", function(C)
    local list = {}
    for i = 1, 60 do list[i] = { n = i } end
    local f = C(function() for i = 1, #list do list[i].n = list[i].n + 1 end end)
    return function(report)
      f() report(list)
      list[7] = list[9]
      f() report(list)
    end
  end, true)
end

function parts.variables()
  check("counters", function(C)
    local n, m = 0, 10
    local f = C(function(step) n = n + step m = n return n end)
    return function(report)
      report(f("1")) report(n, m)
      for i = 1, 4 do report(f(2)) report(n, m) end
      n = 100
      report(f(2)) report(n, m)
    end
  end, true)
  check("shared by functions", function(C)
    local n = 1
    local function up() n = n + 1 return n end
    local function get() return n end
    local f = C(function() local a = get() up() local b = get() n = n * 2 return a, b, up(), get() end)
    return function(report) report(f()) report(n, up, get) report(f()) report(n) end
  end, true)
  check("of a function that is still running", function(C)
    local function outer(report)
      local v = 1
      local f = C(function() v = v * 2 return v end)
      report(f()) report(v)
      v = v + 1
      report(f()) report(v)
    end
    return outer
  end, true)
  check("of a loop", function(C)
    return function(report)
      local fs = {}
      for i = 1, 3 do fs[i] = C(function(t) i = i + 1 t[i] = i return i end) end
      local t = {}
      for _ = 1, 2 do for k = 1, 3 do report(fs[k](t)) end end
      report(t)
    end
  end, true)
end

-- Lengths of lists with holes, which the program or others made, in all orders of some writes.
function parts.holes()
  local x = tb.ones(2)
  local functions = {
    remove = function(v, list, k) list[k] = nil return #list, v end,
    replace = function(v, list, k) list[k] = v return #list, v end,
    pop = function(v, list, k) list[#list] = nil return #list, k end,
    twice = function(v, list, k) list[k] = nil list[k + 1] = k return #list, v end,
  }
  local between = { function() end, function(list) list[2] = nil end, function(list) list[1] = nil end, function(list) list[3] = 5 end }
  local held = 0
  for name, f in pairs(functions) do
    for code = 0, 4 ^ 6 - 1 do
      local compiled = tb.compile(f, { backend = "eager", options = { recompile_limit = 64 } })
      local plain_list, list, rest = { 3, 4, 5 }, { 3, 4, 5 }, code
      for call = 1, 3 do
        local k, other = rest % 4, between[rest // 4 % 4 + 1]
        rest = rest // 16
        other(plain_list)
        other(list)
        local want, got = f(x, plain_list, k), compiled(x, list, k)
        held = held + 1
        assert(want == got, ("%s %d, call %d: plain %s, compiled %s"):format(name, code, call, want, got))
      end
    end
  end
  assert(held == 4 * 3 * 4 ^ 6)
  -- holes of the same call, in a list that has as many keys as its border says, and then a key that fills one of them
  local function maker(wrap)
    local list = { 3, 4, 5 }
    return wrap(function(v, n)
      list[n % 3] = nil
      local before = #list
      list[(n + before) % 5 + 1] = 0
      local between = #list
      list[(n + before + between) % 5 + 1] = 0
      return before, between, #list, v
    end)
  end
  for code = 0, 6 ^ 4 - 1 do
    local plain, compiled = maker(function(f) return f end), maker(function(f) return tb.compile(f, { backend = "eager", options = { recompile_limit = 64 } }) end)
    local rest = code
    for call = 1, 4 do
      local want, got = table.pack(plain(x, rest % 6)), table.pack(compiled(x, rest % 6))
      for i = 1, 3 do assert(want[i] == got[i], ("list %d, call %d: length %d: plain %s, compiled %s"):format(code, call, i, want[i], got[i])) end
      rest = rest // 6
    end
  end
  -- behind values that were appended it is a border, if not always the same one
  local append = tb.compile(function(v, list) list[#list + 1] = v return #list, v end, { backend = "eager", options = { recompile_limit = 64 } })
  for code = 0, 2 ^ 6 - 1 do
    local list = {}
    for k = 1, 6 do list[k] = k end
    for k = 1, 6 do if code & 1 << (k - 1) ~= 0 then list[k] = nil end end
    for _ = 1, 3 do
      local length = append(x, list)
      assert((length == 0 or list[length] ~= nil) and list[length + 1] == nil)
    end
  end
end

function parts.metatables()
  check_calls("setmetatable on an argument", function()
    local class = { greet = "hi" }
    class.__index = class
    return function(t) setmetatable(t, class) return t.greet, getmetatable(t) == class end, {}
  end)
  check_calls("taken away", function() return function(t) local had = t.v setmetatable(t, nil) return had, t.v end, setmetatable({}, { __index = { v = 1 } }) end)
  check_calls("a new one", function() return function(t) local m = { __index = function(_, k) return k .. "!" end } setmetatable(t, { __index = { v = 3 } }) return t.v, t.w, m ~= nil end, {} end)
  check_calls("a metatable from outside is written", function()
    local class = {}
    class.__index = class
    return function(t) class.extra = 5 local a = t.extra class.__index = nil return a, t.extra, rawget(class, "extra") end, setmetatable({}, class)
  end)
  check_calls("__newindex", function()
    local log = {}
    local t = setmetatable({}, { __newindex = function(t, k, v) log[#log + 1] = k rawset(t, k, v) end })
    return function(t) t.a = 1 t.a = 2 t.b = 3 return #log end, t, log
  end)
  check_calls("__newindex to another table", function()
    local store = {}
    return function(t) t.a = 1 t.b = 2 return rawget(t, "a"), t.a end, setmetatable({}, { __newindex = store, __index = store }), store
  end)
  check_calls("objects with a class made inside", function()
    return function(v)
      local class = {}
      class.__index = class
      local a, b = setmetatable({ v = v }, class), setmetatable({}, class)
      a.other, b.other, class.first = b, a, a
      return a, b
    end, 3
  end)
  check("a protected one", function(C)
    local t = setmetatable({}, { __metatable = "locked" })
    local f = C(function() setmetatable(t, nil) end)
    return function(report) local ok, message = pcall(f) report(ok, message:gsub("^.-:%d+: ", ""), t) end
  end)
end

function parts.objects()
  check_calls("returned twice, in each other, in itself", function()
    return function(v)
      local a, b = { v }, {}
      a.b, b.a, a.self, b[1], b[2] = b, a, a, a, a
      return a, b, { a, { b } }, a
    end, x
  end)
  check_calls("stored outside", function() return function(t, v) local a = { v * 2 } t.a, t.b = a, { a } return a, t end, {}, x end)
  check_calls("a list that is linked", function()
    return function(n) local head for i = n, 1, -1 do head = { value = i, next = head } end return head end, 300
  end)
  check_calls("new keys", function() return function(t) local k = {} t[k] = "v" return t[k], k end, {} end)
  check_calls("outside objects in new ones", function() return function(t, u) local w = { t, u.deep } t.w = w u.deep = nil return w end, {}, { deep = { 1 } } end)
  check_calls("a library function", function() return function(t) t.f = print t.g = next return ipairs({}) end, {} end)
  check_calls("tensor methods", function() return function(t, v) local relu = v.relu t.relu = relu return relu(v), relu end, {}, x end)
end

function parts.closures()
  check_calls("with nothing", function() return function() return function(a) return a + 1 end end end)
  check_calls("over a value", function() return function(v) local w = v * 2 return function() return w, v end end, x end)
  check("counting", function(C)
    local make = C(function(n) return function() n = n + 1 return n end, function() return n end end)
    return function(report)
      local up, get = make(5)
      report(up, get)
      report(up(), up(), get())
      local up2, get2 = make(7)
      report(up2(), get2(), get(), up, get, up2, get2)
    end
  end, true)
  check_calls("recursive", function() return function() local function f(n) if n < 2 then return 1 end return n * f(n - 1) end return f, f(4) end end)
  check_calls("variables of the loop and around it", function()
    return function()
      local fs, sum = {}, 0
      for i = 1, 3 do fs[i] = function(k) sum = sum + i + k return sum end end
      fs[2](1)
      return fs, sum
    end
  end)
  check("over variables from outside", function(C)
    local n = 0
    local f = C(function(t) n = n + 1 t.f = function() n = n + 10 return n end return t.f end)
    return function(report)
      local t = {}
      local g = f(t)
      report(g, t, n)
      report(g(), n, f(t) == g, n)
      report(t.f(), n)
    end
  end, true)
  check_calls("in one another", function()
    return function(a) return function(b) local c = a + b return function() a = a + 1 return a + b + c end end end, 4
  end)
  check_calls("called before they are stored", function() return function(t) local n = 0 local function up() n = n + 1 return n end up() t.up = up up() return up() end, {} end)
  check_calls("methods of a class made inside", function()
    return function() local class = {} class.__index = class function class.new(v) return setmetatable({ v = v }, class) end function class:get() return self.v end return class, class.new(4):get() end
  end)
  check("errors in them name their lines", function(C)
    local make = C(function() return function(t) return t.missing.field end end)
    return function(report) for _ = 1, 2 do report(pcall(make(), {})) end end
  end, true)
end

-- Where the compiled code cannot go on, the plain function does all, once.
function parts.failures()
  check("an error in the middle", function(C)
    local n, log = 0, {}
    local f = C(function(v) n = n + 1 log[#log + 1] = n if v then error("stop") end n = n + 1 return n end)
    return function(report)
      report(f()) report(n, log)
      report(pcall(f, true)) report(n, log)
      report(f()) report(n, log)
    end
  end)
  check("the graph fails when it runs", function(C)
    local n, t = 0, {}
    local f = C(function(v, i) n = n + 1 t[#t + 1] = n local r = v:index_select(1, i) t.r = r return r:sum() end)
    return function(report)
      report(f(x, tb.tensor { 1, 2 })) report(n, t)
      report((pcall(f, x, tb.tensor { 9, 9 }))) report(n, #t)
      report(f(x, tb.tensor { 2, 2 })) report(n, #t)
    end
  end)
  check("a break", function(C)
    local n = 0
    local f = C(function(t, v) n = n + 1 t.a = n local s = v:sum():item() t.b = s n = n + 1 return s end)
    return function(report) local t = {} for _ = 1, 3 do report(f(t, x)) report(t, n) end end
  end)
end

-- --- random programs ---

local seed
local function random(n)
  seed = seed * 6364136223846793005 + 1442695040888963407
  return (seed >> 33) % n + 1
end
local function pick(list) return list[random(#list)] end

local function table_name() return pick { "a", "b", "T", "U", "a", "b" } end
local function value() return pick { "1", "num(n)", "n + 1", "m", "#a", "x", "x + 1", "'s'", "true", "a.p", "b.q", "T.p", "num(a[1]) + 1", "{ n, x }", "b", "T", "nil", "last", "num(T.p) * 2", "last" } end
-- Lists have no holes: which of their borders # gives is Lua's own business.
local function place() local t = table_name() return t .. pick { ".p", ".q", ".r", "[#" .. t .. " + 1]", ".s", "[#" .. t .. "]" } end

local statements = {
  function() return ("%s = %s"):format(place(), value()) end,
  function() return ("%s = %s"):format(place(), value()) end,
  function() return ("%s = nil"):format(place()) end,
  function() local t, i = table_name(), random(3) return ("if #%s >= %d then %s[%d] = %s or 0 end"):format(t, i, t, i, value()) end,
  function() return ("n = num(n) + %s"):format(pick { "1", "2", "num(a.p)", "#b" }) end,
  function() return ("m = %s"):format(value()) end,
  function() return "up()" end,
  function() return "last = get()" end,
  function() return ("table.insert(%s, %s)"):format(table_name(), pick { "n", "x", "'i'", "{}" }) end,
  function() local t = table_name() return ("if #%s > 0 then last = table.remove(%s%s) end"):format(t, t, pick { "", ", 1" }) end,
  function() return ("rawset(%s, %s, %s)"):format(table_name(), pick { "'p'", "'z'", "-4" }, pick { "n", "nil", "x" }) end,
  function() return ("setmetatable(%s, %s)"):format(table_name(), pick { "class", "nil", "{ __index = { q = 4 } }", "watch" }) end,
  function() return ("do local t = { %s } t.self = t %s = t last = t end"):format(pick { "n", "x, n", "v = n", "1, nil, 3" }, place()) end,
  function() return ("for k, v in pairs(%s) do if type(v) == 'number' then n = num(n) + v end end"):format(table_name()) end,
  function() local t = table_name() return ("for k, v in pairs(%s) do if math.type(v) == 'integer' and math.abs(v) < 1000 then %s[k] = v %s 1 end end"):format(t, t, pick { "+", "-" }) end,
  function() return ("for i, v in ipairs(%s) do last = v end"):format(table_name()) end,
  function() return "a, b = b, a" end,
  function() return "EFFECTS_GLOBAL = n" end,
  function() return "last = EFFECTS_GLOBAL" end,
  function() return ("do local c = num(n) %s = function() c = c + 1 n = num(n) + c return c end end"):format(place()) end,
  function() return ("if type(%s.p) == 'function' then last = %s.p() end"):format("a", "a") end,
  function() return ("if %s then %s = %s end"):format(pick { "a == b", "a.p", "n == 3", "T.q", "a == T" }, place(), value()) end,
  function() return random(12) == 1 and "error('raised')" or "last = n" end,
  function() return random(12) == 1 and "last = x:sum():item()" or "last = x * 2" end,
}

local prelude = [[
local tb, C, first, second, third = ...
local T, U, n, m, last = first, second, 0, nil, nil
local function num(v) return math.type(v) == "integer" and math.abs(v) < 1000000 and v or 0 end
local class = { p = "of class" } class.__index = class
local watch = { __newindex = function(t, k, v) n = num(n) + 1 rawset(t, k, v) end }
local function up() n = num(n) + 1 return n end
local function get() return n end
local f = C(function(a, b, x)
]]
local epilogue = [[

  return n, m, last, a, b
end)
return f, function() return T, U, n, m, last, class, up, get, EFFECTS_GLOBAL, first, second, third end, function(v, w) n, m = v, w end
]]

local function program(s)
  seed = s * 2654435761 + 12345
  for _ = 1, 5 do random(2) end
  local lines = {}
  for i = 1, 3 + random(9) do lines[i] = "  " .. pick(statements)() end
  return prelude .. table.concat(lines, "\n") .. epilogue
end

-- What is changed from outside before a call: by the seed, alike on both sides.
local function drive(text, wrap, s, report)
  seed = s * 40503 + 977
  for _ = 1, 5 do random(2) end
  EFFECTS_GLOBAL = nil
  local tables = { { p = 1, q = 2 }, { 1, 2, 3, p = "x" }, { r = {} } }
  tables[3].r.p = tables[1]
  local f, world, set = assert(load(text, "=program"))(tb, wrap, tables[1], tables[2], tables[3])
  for _ = 1, 4 do
    local a, b = tables[random(3)], tables[random(3)]
    local change = random(6)
    if change == 1 then set(random(4), nil) elseif change == 2 then a.p = random(3) elseif change == 3 then b[#b + 1] = random(5) end
    local draw = seed
    local results = table.pack(pcall(f, a, b, x))
    report(table.unpack(results, 1, results.n))
    report(world())
    seed = draw
  end
end

function parts.programs()
  local whole = 0
  for s = first_seed, first_seed + n_seeds - 1 do
    local text = program(s)
    local want, got = {}, {}
    local object
    in_order = s % 20 ~= 0
    collectgarbage()
    collectgarbage(in_order and "stop" or "restart")
    stress(not in_order)
    drive(text, function(f) return f end, s, function(...) want[#want + 1] = describe_world(...) end)
    drive(text, function(f) object = tb.compile(f, { backend = s % 40 == 0 and "inductor" or "eager" }) return object end, s, function(...) got[#got + 1] = describe_world(...) end)
    for i = 1, math.max(#want, #got) do
      if want[i] ~= got[i] then error(("program %d, report %d:\n  plain    %s\n  compiled %s\n%s"):format(s, i, want[i], got[i], text), 0) end
    end
    if #tb.stats(object).fallbacks == 0 then whole = whole + 1 end
    stress(false)
  end
  assert(whole * 4 > n_seeds, ("only %d of %d programs were captured whole"):format(whole, n_seeds))
end

assert(parts[part], "no such part")()
