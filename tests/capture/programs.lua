-- Random Lua programs, each run plain and compiled (backend=eager). Typed generation keeps most of them free of errors; an
-- error must be the same on both sides. Arguments: tb, first seed, number of programs.
-- Returns a report of the first difference ("" when there is none), and how many programs were captured whole.
local tb, first_seed, count = ...

local seed
local function random(n) -- 1 … n
  seed = (seed * 6364136223846793005 + 1442695040888963407)
  return (seed >> 33) % n + 1
end
local function pick(list) return list[random(#list)] end
local function chance(percent) return random(100) <= percent end

local out, names, scopes, depth, loops, budget

local function emit(...) out[#out + 1] = ("  "):rep(depth) .. string.format(...) end
local function fresh(kind)
  names = names + 1
  local name = kind:sub(1, 1) .. names
  table.insert(scopes[#scopes], { name = name, kind = kind })
  return name
end
local function variable(kind)
  local found = {}
  for _, scope in ipairs(scopes) do
    for _, v in ipairs(scope) do if v.kind == kind then found[#found + 1] = v.name end end
  end
  return #found > 0 and pick(found) or nil
end

local expression

local numbers = { "0", "1", "2", "3", "7", "-1", "-5", "10", "0.5", "2.0", "-1.5", "1e3", "255", "0x7f", "100", "math.maxinteger", "math.mininteger", "3.25" }
local strings = { "''", "'a'", "'b'", "'xyz'", "'10'", "'0x1p4'", "'  5  '", "'-2.5'" }
local generate = {}

function generate.number(n)
  local k = n <= 0 and random(2) or random(17)
  if k == 1 then return pick(numbers) end
  if k <= 4 then return variable("number") or pick(numbers) end
  if k <= 7 then return ("(%s %s %s)"):format(expression("number", n - 1), pick { "+", "-", "*" }, expression("number", n - 1)) end
  if k == 8 then return ("(%s %s %s)"):format(expression("number", n - 1), pick { "/", "%", "//" }, pick { "2", "-3", "0.5", "7.0" }) end
  if k == 9 then return ("(math.floor(%s) %s %s)"):format(pick { "7.5", "12", "-3.5" }, pick { "&", "|", "~", "<<", ">>" }, pick { "3", "1", "2.0", "65", "-1" }) end
  if k == 10 then return ("(- %s)"):format(expression("number", n - 1)) end
  if k == 11 then return ("#%s"):format(expression(pick { "string", "list" }, n - 1)) end
  if k == 12 then return ("(%s and %s or %s)"):format(expression("boolean", n - 1), expression("number", n - 1), expression("number", n - 1)) end
  if k == 13 then local f = variable("func") return f and ("%s(%s, %s)"):format(f, expression("number", n - 1), expression("number", n - 1)) or "4" end
  if k == 14 then local l = variable("list") return l and ("(%s[%d] or %s)"):format(l, random(5) - 1, expression("number", n - 1)) or "5" end
  if k == 15 then return ("(select('#', %s, %s))"):format(expression("number", n - 1), expression("string", n - 1)) end
  if k == 16 then local o = variable("object") return o and ("%s%s"):format(o, pick { ".v", ":get()", "(1, 2)", ".inherited" }) or "6" end
  return ("math.%s(%s, %s)"):format(pick { "max", "min" }, expression("number", n - 1), expression("number", n - 1))
end
function generate.string(n)
  local k = n <= 0 and random(2) or random(7)
  if k == 1 then return pick(strings) end
  if k <= 3 then return variable("string") or pick(strings) end
  if k == 4 then return ("(%s .. %s):sub(1, 20)"):format(expression("string", n - 1), expression(pick { "string", "number" }, n - 1)) end
  if k == 5 then return ("(%s):sub(%d, %d)"):format(expression("string", n - 1), random(3), random(4)) end
  if k == 6 then return ("tostring(%s)"):format(expression(pick { "number", "boolean" }, n - 1)) end
  return ("type(%s)"):format(expression(pick { "number", "tensor", "list", "boolean" }, n - 1))
end
function generate.boolean(n)
  local k = n <= 0 and random(2) or random(8)
  if k == 1 then return pick { "true", "false" } end
  if k <= 3 then return variable("boolean") or "false" end
  if k == 4 then return ("(%s %s %s)"):format(expression("number", n - 1), pick { "<", "<=", ">", ">=", "==", "~=" }, expression("number", n - 1)) end
  if k == 5 then return ("(%s %s %s)"):format(expression("string", n - 1), pick { "<", "<=", ">", "==", "~=" }, expression("string", n - 1)) end
  if k == 6 then return ("not %s"):format(expression(pick { "boolean", "tensor", "number" }, n - 1)) end
  if k == 7 then local o, p = variable("object"), variable("object") return o and ("(%s %s %s)"):format(o, pick { "==", "~=", "<", "<=" }, p) or "true" end
  return ("(%s %s %s)"):format(expression("boolean", n - 1), pick { "and", "or" }, expression("boolean", n - 1))
end
function generate.tensor(n)
  local k = n <= 0 and random(2) or random(9)
  if k <= 3 then return variable("tensor") or "x" end
  if k <= 5 then return ("(%s %s %s)"):format(expression("tensor", n - 1), pick { "+", "-", "*" }, expression(pick { "tensor", "number" }, n - 1)) end
  if k == 6 then return ("(%s %s %s)"):format(expression("number", n - 1), pick { "+", "-", "*" }, expression("tensor", n - 1)) end
  if k == 7 then return ("(%s):%s()"):format(expression("tensor", n - 1), pick { "relu", "neg", "abs", "clone", "tanh" }) end
  if k == 8 then return ("tb.maximum(%s, %s)"):format(expression("tensor", n - 1), expression("tensor", n - 1)) end
  return ("(%s / %s)"):format(expression("tensor", n - 1), pick { "2", "0.5", "-4" })
end
function generate.list(n)
  if n <= 0 or chance(60) then return variable("list") or "{1, 2}" end
  local items = {}
  for i = 1, random(4) do items[i] = expression("number", n - 1) end
  return "{" .. table.concat(items, ", ") .. "}"
end
function generate.object() return variable("object") or "new(1)" end

function expression(kind, n)
  return generate[kind](n)
end

local kinds = { "number", "number", "string", "boolean", "tensor", "tensor", "list", "object" }
local block

local function scoped(body)
  depth = depth + 1
  scopes[#scopes + 1] = {}
  body()
  scopes[#scopes] = nil
  depth = depth - 1
end

local statements = {}
function statements.declare()
  local kind = pick(kinds)
  local value = kind == "object" and ("new(%s)"):format(expression("number", 1)) or expression(kind, 3)
  if kind == "list" then value = "{" .. expression("number", 1) .. ", " .. expression("number", 1) .. ", table.unpack(" .. expression("list", 1) .. ", 1, 3)}" end
  emit("local %s = %s", fresh(kind), value)
end
function statements.assign()
  local kind = pick { "number", "string", "boolean", "tensor" }
  local name = variable(kind)
  if name then emit("%s = %s", name, expression(kind, 3)) end
end
function statements.swap()
  local a, b = variable("number"), variable("number")
  if a and b and a ~= b then emit("%s, %s = %s, %s", a, b, expression("number", 1), expression("number", 1)) end
end
function statements.branch()
  emit("if %s then", expression("boolean", 2))
  scoped(function() block(2) end)
  if chance(50) then
    emit("elseif %s then", expression(pick { "boolean", "tensor" }, 1))
    scoped(function() block(1) end)
  end
  if chance(50) then
    emit("else")
    scoped(function() block(2) end)
  end
  emit("end")
end
function statements.count()
  if loops > 2 then return end
  loops = loops + 1
  local bounds = pick { "1, 3", "3, 1, -1", "1, 0", "0.5, 2", "1, 2, 0.5", "-1, 1", "2, 2", "math.maxinteger - 1, math.maxinteger", "1, 2.7", "10, 1, -4" }
  names = names + 1
  local name = "i" .. names
  emit("for %s = %s do", name, bounds)
  scoped(function()
    table.insert(scopes[#scopes], { name = name, kind = "number" })
    block(3)
    if chance(30) then emit("if %s then break end", expression("boolean", 1)) end
  end)
  emit("end")
  loops = loops - 1
end
function statements.repeated()
  if loops > 2 then return end
  loops = loops + 1
  names = names + 1
  local name = "w" .. names
  emit("local %s = 0", name)
  local form = random(3)
  emit(form == 1 and "while %s < 3 do" or "repeat", name)
  scoped(function()
    emit("%s = %s + 1", name, name)
    if chance(40) then
      emit("if %s == 2 then goto next%d end", name, names)
      local label = names
      emit("do")
      scoped(function() block(2) end)
      emit("end")
      emit("::next%d::", label)
    else
      block(2)
    end
  end)
  if form == 1 then emit("end") else emit("until %s >= 2", name) end
  loops = loops - 1
end
function statements.iterate()
  if loops > 2 then return end
  loops = loops + 1
  names = names + 1
  local form = random(3)
  if form == 1 then emit("for k%d, v%d in ipairs({table.unpack(%s)}) do", names, names, expression("list", 1)) -- a copy: the body may append
  elseif form == 2 then emit("for k%d, v%d in pairs({%s, %s, 'third' and 3}) do", names, names, expression("number", 1), expression("number", 1))
  else emit("for k%d, v%d in range(%d) do", names, names, random(3)) end
  local id = names
  scoped(function()
    table.insert(scopes[#scopes], { name = "k" .. id, kind = "number" })
    table.insert(scopes[#scopes], { name = "v" .. id, kind = "number" })
    block(2)
  end)
  emit("end")
  loops = loops - 1
end
function statements.func()
  if loops > 1 then return end
  names = names + 1
  local name = "f" .. names
  local vararg = chance(30)
  emit("local function %s(%s)", name, vararg and "..." or "p, q")
  local before = budget
  scoped(function()
    if vararg then emit("local p, q = ...") end
    table.insert(scopes[#scopes], { name = "p", kind = "number" })
    table.insert(scopes[#scopes], { name = "q", kind = "number" })
    emit("calls = calls + 1")
    loops = loops + 2
    block(2)
    loops = loops - 2
    emit("return %s", expression("number", 2))
  end)
  budget = before
  emit("end")
  table.insert(scopes[#scopes], { name = name, kind = "func" })
end
function statements.store()
  local list = variable("list")
  if not list then return end
  local form = random(4)
  if form == 1 then emit("if #%s < 9 then %s[#%s + 1] = %s end", list, list, list, expression("number", 2))
  elseif form == 2 then emit("if #%s < 9 then table.insert(%s, %s) end", list, list, expression("number", 1))
  elseif form == 3 then emit("if #%s > 1 then table.remove(%s) end", list, list)
  else emit("%s[1] = %s", list, expression("number", 2)) end
end
function statements.object()
  local object = variable("object")
  if not object then return end
  emit(pick { "%s.v = %s", "%s:set(%s)", "%s.other = %s" }, object, expression("number", 1))
end
function statements.outside() emit(pick { "t0 = t0 * config.scale + config.list[2]", "n0 = n0 + #config.list", "if config.flag then n0 = n0 + 1 end", "for _, v in ipairs(config.list) do n0 = n0 + v end", "n0 = n0 + (config.absent and 1 or 2)", "t0 = config.layer(t0)" }) end
function statements.rare()
  if chance(12) then
    emit(pick { "error('raised')", "n0 = n0 + nothing.field", "config.scale = 3", "print_nothing(t0)", "t0 = t0 + {}", "n0 = t0:sum():item()", "n0 = n0 // 0", "pcall(error)", "t0 = t0 + tb.ones(3, 7)" })
  end
end
local list = {}
for _, name in ipairs { "declare", "declare", "declare", "assign", "assign", "assign", "swap", "branch", "count", "repeated", "iterate", "func", "store", "store", "object", "outside", "rare" } do list[#list + 1] = statements[name] end

function block(n)
  for _ = 1, n do
    if budget <= 0 then return end
    budget = budget - 1
    pick(list)()
  end
end

local prelude = [[
local tb, config = ...
local calls = 0
local class = {} class.__index = class class.inherited = 11
class.__call = function(self, a, b) return self.v + a - b end
class.__eq = function(a, b) return a.v == b.v end
class.__lt = function(a, b) return a.v < b.v end
class.__le = function(a, b) return a.v <= b.v end
function class:get() return self.v end
function class:set(v) self.v = v end
local function range(n) local i = 0 return function() i = i + 1 if i <= n then return i, i * 2 end end end
local function print_nothing() end
return function(x, n0)
  local calls = 0
  local t0 = x
  local function new(v) return setmetatable({ v = v }, class) end
]]

local function program(s)
  seed = s * 2654435761 + 12345
  for _ = 1, 5 do random(2) end
  out, names, scopes, depth, loops, budget = {}, 0, { { { name = "t0", kind = "tensor" }, { name = "n0", kind = "number" } } }, 1, 0, 60
  block(14)
  local results = {}
  for _, v in ipairs(scopes[1]) do if v.kind ~= "func" and v.kind ~= "object" then results[#results + 1] = v.name end end
  return prelude .. table.concat(out, "\n") .. "\n  return calls, " .. table.concat(results, ", ") .. "\nend"
end

local function config()
  local layer = setmetatable({ w = tb.tensor({ 0.5, 2 }, { dtype = "f32" }) }, { __call = function(self, x) return x * self.w end })
  return { scale = 2, list = { 3, 4, 5 }, flag = true, layer = layer }
end

-- Lua up to 5.4.4 tells an integer division by a constant zero with the line of whatever saved its place before.
local function stale_line(message) return (message:gsub("^program:%d+: attempt to (.*zero)$", "%1"):gsub("^program:%d+: (attempt to perform 'n.*0')$", "%1")) end

local function same(a, b)
  if tb.is_tensor(a) then
    if not tb.is_tensor(b) or a.dtype ~= b.dtype then return false end
    local p, q = a:reshape(-1):tolist(), b:reshape(-1):tolist()
    for i = 1, math.max(#p, #q) do if p[i] ~= q[i] and (p[i] == p[i] or q[i] == q[i]) then return false end end
    return #p == #q
  end
  if type(a) ~= type(b) or math.type(a) ~= math.type(b) then return false end
  if type(a) == "string" then a, b = stale_line(a), stale_line(b) end
  if type(a) == "table" then
    for k, v in pairs(a) do if not same(v, b[k]) then return false end end
    for k in pairs(b) do if a[k] == nil then return false end end
    return true
  end
  return a == b or (a ~= a and b ~= b)
end

local captured = 0
for s = first_seed, first_seed + count - 1 do
  local text = program(s)
  local chunk, message = load(text, "=program")
  if not chunk then return ("program %d: %s\n%s"):format(s, message, text), captured end
  local config_plain, config_compiled = config(), config()
  local plain, other = chunk(tb, config_plain), load(text, "=program")(tb, config_compiled)
  local switches = {}
  seed = s
  if chance(70) then switches[pick { "break_every", "break_at" }] = random(12) end
  local compiled = tb.compile(other, { backend = "eager", options = switches })
  local breaks = tb.counters().graph_breaks
  local x = tb.tensor({ 1.5, -2 }, { dtype = "f32" })
  for call = 1, 2 do
    local want = table.pack(pcall(plain, x, 3))
    local got = table.pack(pcall(compiled, x, 3))
    local where = ("program %d, call %d: "):format(s, call)
    if want.n ~= got.n or want[1] ~= got[1] then return where .. "other results: " .. tostring(got[2]) .. " for " .. tostring(want[2]) .. "\n" .. text, captured end
    for i = 1, want.n do
      if not same(want[i], got[i]) then return where .. ("result %d is %s, not %s\n"):format(i - 1, tostring(got[i]), tostring(want[i])) .. text, captured end
    end
    if not same(config_plain.scale, config_compiled.scale) then return where .. "other side effects\n" .. text, captured end
  end
  if not tb.stats(compiled).eager then captured = captured + 1 end
end
return "", captured
