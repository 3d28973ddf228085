-- Random Lua programs for programs.lua. Generation is typed, which keeps most operations free of errors; those that raise are
-- rare outside of pcall. The file returns a table: program(seed) gives the text of a chunk, pick and chance draw on.
--
-- What is not generated: what plain Lua leaves open (addresses, the order of finalizers, the order of `pairs` over tables that
-- have other tables as keys), and what Lua 5.4.4 does wrongly: a `break` out of a generic loop with a closing value (it may crash),
-- and computing with the text of a caught error (the line of a division by zero).
local M = {}

local seed
local function random(n) -- 1 … n
  seed = seed * 6364136223846793005 + 1442695040888963407
  return (seed >> 33) % n + 1
end
local function pick(list) return list[random(#list)] end
local function chance(percent) return random(100) <= percent end

local out, names, scopes, depth, loops, breakable, functions, budget, is_vararg, helper_is_compiled

local function emit(text, ...) out[#out + 1] = ("  "):rep(depth) .. (select("#", ...) > 0 and text:format(...) or text) end
local function number_name(letter)
  names = names + 1
  return letter .. names
end
local function declare(kind, name)
  name = name or number_name(kind:sub(1, 1))
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

local generate = {}
local function expression(kind, n) return generate[kind](n) end
local function format(text, ...) return text:format(...) end

local numbers = { "0", "1", "2", "3", "7", "-1", "-5", "10", "0.5", "2.0", "-1.5", "1e3", "255", "0x7f", "100", "3.25", "-0.0" }
local odd_numbers = { "math.maxinteger", "math.mininteger", "1e308", "(0/0)", "math.huge", "2^53" }
local strings = { "''", "'a'", "'b'", "'xyz'", "'10'", "'0x1p4'", "'  5  '", "'-2.5'", "'key'" }

local number_forms = {
  function() return chance(85) and pick(numbers) or pick(odd_numbers) end,
  function() return variable("number") or pick(numbers) end,
  function() return variable("number") or pick(numbers) end,
  function(n) return format("(%s %s %s)", expression("number", n), pick { "+", "-", "*" }, expression("number", n)) end,
  function(n) return format("(%s %s %s)", expression("number", n), pick { "+", "-", "*" }, expression("number", n)) end,
  function(n) return format("(%s %s %s)", expression("number", n), pick { "/", "%", "//", "^" }, pick { "2", "-3", "0.5", "7.0" }) end,
  function(n) return format("(int(%s) %s %s)", expression("number", n), pick { "&", "|", "~", "<<", ">>" }, pick { "3", "1", "2.0", "65", "-1", "int(" .. expression("number", n) .. ")" }) end,
  function(n) return format("(%s%s)", pick { "- ", "~int" }, "(" .. expression("number", n) .. ")") end,
  function(n) return format("#%s", expression(pick { "string", "list" }, n)) end,
  function(n) return format("(%s and %s or %s)", expression("boolean", n), expression("number", n), expression("number", n)) end,
  function(n) local f = variable("func") return f and format("%s(%s, %s)", f, expression("number", n), expression("number", n)) or "4" end,
  function(n) local l = variable("list") return l and format("num(%s[%s])", l, pick { "1", "2", "n0", "#" .. l, "2.0" }) or "5" end,
  function(n)
    local a, b = expression("number", n), expression("string", n)
    return pick { format("select('#', %s, %s)", a, b), format("(select(1, %s, %s))", a, b), format("select(-1, %s, %s)", b, a) }
  end,
  function() local o = variable("object") return o and o .. pick { ".v", ":get()", "(1, 2)", ".inherited", ".computed", "[1]" } or "6" end,
  function(n) return format("math.%s(%s, %s)", pick { "max", "min" }, expression("number", n), expression("number", n)) end,
  function(n) local f = variable("func") return f and format("%s(%s, %s)", f, expression("number", n), expression("number", n)) or "n0" end,
  function() local u = variable("up") return u and u .. pick { "()", "(2)" } or "8" end,
  function() local u, n = variable("up"), variable("number") return u and format("%s(%s)", u, n) or n end,
  function(n) return format("num((%s):%s)", expression("string", n), pick { "byte(1)", "find('a', 1, true)", "len()" }) end,
  function(n) return format("num(tonumber(%s))", expression("string", n)) end,
  function() return pick { "calls", "config.scale", "config.list[2]", "#config.list", "total", "num(PROGRAM_GLOBAL)" } end,
  function(n) return format("num((%s - %s).v)", expression("object", n), chance(50) and "2.5" or expression("object", n)) end,
}
function generate.number(n)
  if n <= 0 then return number_forms[random(2)]() end
  return (pick(number_forms)(n - 1))
end

local string_forms = {
  function() return pick(strings) end,
  function() return variable("string") or pick(strings) end,
  function() return variable("string") or pick(strings) end,
  function(n) return format("(%s .. %s):sub(1, 20)", expression("string", n), expression(pick { "string", "number" }, n)) end,
  function(n) return format("(%s .. %s .. %s):sub(-9)", expression("number", n), expression("string", n), expression("string", n)) end,
  function(n) return format("(%s):sub(%d, %d)", expression("string", n), random(3), random(4)) end,
  function(n) return format("tostring(%s)", expression(pick { "number", "boolean" }, n)) end,
  function(n) return format("type(%s)", expression(pick { "number", "tensor", "list", "boolean" }, n)) end,
  function(n) return format("(%s):%s", expression("string", n), pick { "upper()", "rep(2, '-'):sub(1, 20)", "reverse()", "gsub('%d', '<%0>')", "lower()" }):gsub("(.*)", "(%1)") end,
  function(n) return format("string.format('%%s|%%q', %s, %s):sub(1, 24)", expression("string", n), expression("string", n)) end,
  function(n) return format("(%s .. %s)", expression("object", n), expression("string", n)) end,
  function(n) return format("(%s):match('%%a*')", expression("string", n)) end,
  function(n) return format("table.concat({%s, %s}, ',')", expression("string", n), expression("number", n)) end,
}
function generate.string(n)
  if n <= 0 then return string_forms[random(2)]() end
  return (pick(string_forms)(n - 1))
end

local boolean_forms = {
  function() return pick { "true", "false" } end,
  function() return variable("boolean") or "false" end,
  function() return variable("boolean") or "true" end,
  function(n) return format("(%s %s %s)", expression("number", n), pick { "<", "<=", ">", ">=", "==", "~=" }, expression("number", n)) end,
  function(n) return format("(%s %s %s)", expression("number", n), pick { "<", "<=", ">", ">=", "==", "~=" }, pick { "3", "0", "-1", "2.5" }) end,
  function(n) return format("(%s %s %s)", expression("string", n), pick { "<", "<=", ">", "==", "~=" }, expression("string", n)) end,
  function(n) return format("(not %s)", expression(pick { "boolean", "tensor", "number" }, n)) end,
  function(n) return format("(%s %s %s)", expression("object", n), pick { "==", "~=", "<", "<=", ">" }, expression("object", n)) end,
  function(n) return format("(%s %s %s)", expression("boolean", n), pick { "and", "or" }, expression("boolean", n)) end,
  function(n) return format("(math.type(%s) == 'integer')", expression("number", n)) end,
  function(n) local l, k = variable("list"), variable("list") return l and format("(%s == %s)", l, k) or "config.flag" end,
}
function generate.boolean(n)
  if n <= 0 then return boolean_forms[random(2)]() end
  return (pick(boolean_forms)(n - 1))
end

local tensor_forms = {
  function() return variable("tensor") or "x" end,
  function() return variable("tensor") or "x" end,
  function(n) return format("(%s %s %s)", expression("tensor", n), pick { "+", "-", "*" }, expression(pick { "tensor", "number" }, n)) end,
  function(n) return format("(%s %s %s)", expression("tensor", n), pick { "+", "-", "*" }, expression(pick { "tensor", "number" }, n)) end,
  function(n) return format("(%s %s %s)", expression("number", n), pick { "+", "-", "*" }, expression("tensor", n)) end,
  function(n) return format("(%s):%s()", expression("tensor", n), pick { "relu", "neg", "abs", "clone", "tanh" }) end,
  function(n) return format("tb.maximum(%s, %s)", expression("tensor", n), expression("tensor", n)) end,
  function(n) return format("(%s / %s)", expression("tensor", n), pick { "2", "0.5", "-4" }) end,
  function(n) return format("(-%s)", expression("tensor", n)) end,
  function(n) return format("(%s * %s:size(1))", expression("tensor", n), expression("tensor", 0)) end,
}
function generate.tensor(n)
  if n <= 0 then return tensor_forms[1]() end
  return pick(tensor_forms)(n - 1)
end
function generate.list(n)
  if n <= 0 or chance(60) then return variable("list") or "{1, 2}" end
  local items = {}
  for i = 1, random(4) do items[i] = expression("number", n - 1) end
  return "{" .. table.concat(items, ", ") .. pick { "", ", two()", ", (two())", ", three(1)" } .. "}"
end
function generate.object(n)
  if n <= 0 or chance(70) then return variable("object") or "new(1)" end
  return pick { format("(%s %s %s)", expression("object", n - 1), pick { "+", "*", "//" }, expression(pick { "number", "object" }, n - 1)), format("(-%s)", expression("object", n - 1)),
    format("new(%s)", expression("number", n - 1)) }
end

local block

local function scoped(body, ...)
  depth = depth + 1
  scopes[#scopes + 1] = {}
  body(...)
  scopes[#scopes] = nil
  depth = depth - 1
end
local function looped(body, is_block)
  local around = breakable
  loops, breakable = loops + 1, breakable or not is_block
  scoped(body)
  loops, breakable = loops - 1, around
end

-- A statement that raises, or most likely does.
local raising = {
  "error('raised')", "error('level', 2)", "error('bare', 0)", "error({ code = n0 })", "error()", "error(setmetatable({ code = 1 }, class))", "assert(false, 'asserted')", "assert(nil)",
  "n0 = n0 + nothing.field", "nothing()", "n0 = config.absent.field", "config.absent.field = 1", "x:missing()", "n0 = #nil", "n0 = -{}", "n0 = {} .. 'x'", "n0 = {} < {}", "n0 = 1 < 'x'", "n0 = 'a' + 1",
  "n0 = 1.5 | 1", "n0 = 'x' & 1", "n0 = 1 // (n0 - n0)", "n0 = 1 % (n0 - n0)", "for i = 1, 10, 0 do end", "for i = 'a', 2 do end", "for k in 3 do end", "local t = {} t[nil] = 1", "local t = {} t[0/0] = 1",
  "t0 = t0 + {}", "t0 = t0 + tb.ones(3, 7)", "setmetatable(1, {})", "n0 = math.floor('z')", "n0 = ('x'):rep(-1):bad()", "local c <close> = 42", "n0 = 2^53 | 0.5", "broken()", "n0 = new(1) % 2", "string.rep()", "table.concat({ {} })",
}

local statements = {}
function statements.declare()
  local kind = pick { "number", "number", "string", "boolean", "tensor", "tensor", "list", "object" }
  local value = kind == "object" and format("new(%s)", expression("number", 1)) or expression(kind, 3)
  if kind == "list" then value = "{" .. expression("number", 1) .. ", " .. expression("number", 1) .. ", table.unpack(" .. expression("list", 1) .. ", 1, 3)}" end
  emit("local %s = %s", declare(kind), value)
end
function statements.assign()
  local kind = pick { "number", "string", "boolean", "tensor" }
  local name = variable(kind)
  if name then emit("%s = %s", name, expression(kind, 3)) end
end
function statements.several()
  local a, b = variable("number"), variable("number")
  if not a or a == b then return end
  emit(pick { "%s, %s = %s, %s", "%s, %s = two(), %s, %s", "%s, %s = num((%s)), two(%s)", "%s, %s = three(%s, %s)" }, a, b, expression("number", 1), expression("number", 1))
end
function statements.branch()
  emit("if %s then", expression("boolean", 2))
  scoped(block, 2)
  if chance(40) then
    emit("elseif %s then", expression(pick { "boolean", "tensor" }, 1))
    scoped(block, 1)
  end
  if chance(50) then
    emit("else")
    scoped(block, 2)
  end
  emit("end")
end
local bounds = { "1, 3", "1, 2", "1, 3", "2, 1 + num(n0) % 3", "3, 1, -1", "3, 1, -1", "1, 0", "0.5, 2", "1, 2, 0.5", "-1, 1", "2, 2", "math.maxinteger - 1, math.maxinteger", "1, 2.7", "10, 1, -4", "math.mininteger, math.mininteger + 1", "math.mininteger + 1, math.mininteger, -1",
  "1, int(n0) % 4", "int(n0) % 3, 0, -1", "1.0, 3", "3, math.huge, math.maxinteger // 2", "-0.5, -2, -0.75", "math.maxinteger, math.maxinteger + 1.0", "1, -math.huge", "2, 1 + 1, 5" }
function statements.count()
  if loops > 2 then return end
  local name = number_name("i")
  emit("for %s = %s do", name, pick(bounds))
  looped(function()
    declare("number", name)
    block(3)
    if chance(30) then emit("if %s then break end", expression("boolean", 1)) end
  end)
  emit("end")
end
function statements.repeated()
  if loops > 2 then return end
  local name, form = number_name("w"), random(3)
  local label = names
  emit("local %s = 0", name)
  emit(form == 1 and "while %s < 3 do" or "repeat", name)
  looped(function()
    emit("%s = %s + 1", name, name)
    if chance(40) then
      emit("if %s == 2 then goto next%d end", name, label)
      emit("do")
      scoped(block, 2)
      emit("end")
      emit("::next%d::", label)
    else
      block(2)
    end
    if form == 3 then emit("local stop = %s >= 2", name) end
  end)
  emit(form == 1 and "end" or form == 2 and "until %s >= 2" or "until stop", name)
end
function statements.jumps()
  if loops > 1 then return end
  local name = number_name("g")
  local label = names
  emit("do")
  looped(function()
    if chance(50) then -- back
      emit("local %s = 0", name)
      emit("::again%d::", label)
      emit("do")
      scoped(block, 2)
      emit("end")
      emit("%s = %s + 1", name, name)
      emit("if %s < %d then goto again%d end", name, random(3), label)
    else -- out of nested loops
      emit("for a%d = 1, 3 do", label)
      scoped(function()
        emit("for b%d = 1, 2 do", label)
        scoped(function()
          declare("number", "b" .. label)
          block(2)
          emit("if a%d + b%d > %d then goto out%d end", label, label, 1 + random(4), label)
        end)
        emit("end")
      end)
      emit("end")
      emit("::out%d::", label)
    end
  end, true)
  emit("end")
end
function statements.iterate()
  if loops > 2 then return end
  local id, form = number_name(""), random(6)
  if form == 1 then emit("for k%s, v%s in ipairs({table.unpack(%s)}) do", id, id, expression("list", 1)) -- a copy: the body may append
  elseif form == 2 then emit("for k%s, v%s in pairs({%s, %s, 'third' and 3}) do", id, id, expression("number", 1), expression("number", 1))
  elseif form == 3 then emit("for k%s, v%s in next, {%s} do", id, id, expression("number", 1))
  elseif form == 4 then emit("for k%s, v%s in coroutine.wrap(function() for i = 1, %d do coroutine.yield(i, i * %s) end end) do", id, id, random(3), expression("number", 1))
  elseif form == 5 then emit("for k%s, v%s in range(%d), nil, nil, closer('loop') do", id, id, random(3))
  else emit("for k%s, v%s in range(%d) do", id, id, random(3)) end
  looped(function()
    declare("number", "k" .. id)
    declare("number", "v" .. id)
    breakable = breakable and form ~= 5
    block(2)
    if form ~= 5 and chance(20) then emit("if k%s == 2 then break end", id) end
  end)
  emit("end")
end
local function body_of_function(name, heading, last)
  local before = budget
  budget = math.min(budget, 4)
  emit(heading, name)
  local around, could_break = loops, breakable
  loops, breakable = 2, false
  functions = functions + 1
  scoped(function()
    last(function() block(2) end)
  end)
  functions = functions - 1
  loops, breakable = around, could_break
  budget = before - 1
  emit("end")
end
function statements.func()
  if functions > 1 then return end
  local name, form = number_name("f"), random(5)
  local heading = form == 1 and "local function %s(...)" or form == 5 and "local %s = function(p, q, ...)" or "local function %s(p, q)"
  body_of_function(name, heading, function(body)
    if form == 1 then emit("local p, q = ...") end
    emit("calls = calls + 1")
    if form == 2 then emit("if num(p) > 1 and calls < 40 then return %s(%s, q) end", name, pick { "1", "p - 100", "0" }) end -- a tail call
    if form == 4 then emit("if calls %% 5 == 1 then return num(p) + %s(1, q) end", name) end
    declare("number", "p1")
    emit("local p1, q1 = num(p), num(q)")
    declare("number", "q1")
    body()
    if form == 1 then emit("local list = { n = select('#', ...), ... }") end
    emit(pick { "return %s", "return num(%s), 2", "return (two(%s))", "return num(two(%s))" }, form == 1 and chance(50) and "list.n + num(list[2])" or expression("number", 2))
  end)
  declare("func", name)
end
-- A closure over a local variable that both sides write.
function statements.closure()
  if functions > 1 then return end
  local shared, name = number_name("c"), number_name("u")
  emit("local %s = %s", shared, expression("number", 1))
  declare("number", shared)
  emit("local function %s(by) %s = num(%s) + (by or 1)%s return %s end", name, shared, shared, pick { "", " calls = calls + 1", " total = total + 1" }, shared)
  declare("up", name)
  if chance(50) then emit("%s = %s", shared, expression("number", 1)) end
end
function statements.fresh_closures()
  if loops > 1 then return end
  local list, i = number_name("l"), number_name("i")
  emit("local %s = {}", list)
  emit("for %s = 1, %d do", i, random(3))
  looped(function()
    emit("local j = %s * 2", i)
    emit("%s[%s] = function() j = j + %s return j end", list, i, i)
    block(1)
    if chance(40) then emit("j = j + 10") end
  end)
  emit("end")
  emit("n0 = num(n0) + %s[1]() + %s[1]() + %s[#%s]()", list, list, list, list)
end
function statements.protected()
  if functions > 1 then return end
  local ok, message, form = number_name("ok"), number_name("m"), random(5)
  body_of_function(nil, (form == 1 and "local %s, %s = xpcall(function(...)" or "local %s, %s = pcall(function(...)"):format(ok, message), function(body)
    body()
    if chance(60) then emit(pick(raising)) end
    emit("return %s", expression("number", 1))
  end)
  if form == 1 then out[#out] = out[#out] .. pick { ", function(m) return type(m) == 'string' and m .. '!' or m end, 1, 2)", ", function(m) calls = calls + 1 return m end)" }
  else out[#out] = out[#out] .. pick { ")", ", n0)", ", two())" } end
  declare("boolean", ok)
  declare("message", message)
  if chance(10) then emit("if not %s then error(%s, 0) end", ok, message) end
end
-- Functions from outside that break, or raise behind a break, called protected.
function statements.guarded()
  if functions > 1 then return end
  local ok, message, n = number_name("ok"), number_name("m"), expression("number", 1)
  emit(pick { "local %s, %s = pcall(guarded, t0, %s)", "local %s, %s = pcall(guarded, %s)", "local %s, %s = xpcall(guarded, handler, t0, %s)", "local %s, %s = xpcall(guarded, function(m) total = total + 1 return m end, t0, %s)",
    "local %s, _, %s = pcall(pcall, guarded, t0, %s)", "local %s, %s = pcall(again, 2, t0, %s)", "local _, %s, %s = three(pcall(guarded, t0, %s))", "local %s, %s = pcall(helper, %s, n0)" }, ok, message, n)
  if functions == 0 then emit("if tb.is_tensor(%s) then t0 = t0 + %s end", message, message) end
  declare("boolean", ok)
  declare("message", message)
end
function statements.closing()
  if functions > 1 then return end
  emit("do")
  scoped(function()
    emit("local c%d <close> = closer(%s)", names, expression("number", 1))
    block(2)
    if chance(20) then emit("local d <close> = nil") end
    if breakable and chance(20) then emit("if %s then break end", expression("boolean", 1)) end
  end)
  emit("end")
end
function statements.coroutine()
  if functions > 1 then return end
  local name, got = number_name("co"), number_name("n")
  body_of_function(name, "local %s = coroutine.create(function(p)", function(body)
    declare("number", "p1")
    emit("local p1 = num(p)")
    body()
    emit("local back = coroutine.yield(%s, 'y')", expression("number", 1))
    if chance(30) then emit(pick(raising)) end
    emit("total = total + num(back)")
    emit("return %s", expression("number", 1))
  end)
  out[#out] = out[#out] .. ")"
  emit("local ok%s, %s, more%s = coroutine.resume(%s, %s)", got, got, got, name, expression("number", 1))
  emit("%s = num(%s)", got, got)
  declare("number", got)
  local message = number_name("m")
  if chance(60) then
    emit("local %s, %s_ = coroutine.resume(%s, 5)", message, message, name)
    emit("%s = { %s, %s_, coroutine.status(%s) }", message, message, message, name)
    declare("message", message)
  end
end
function statements.varargs()
  if functions > 1 then return end
  local name = number_name("n")
  emit("local %s = num((function(a, ...) local b, c = ... %s return %s end)(%s, %s, two()))", name, pick { "", "calls = calls + select('#', ...)", "if c then total = total + 1 end" },
    pick { "select('#', ...) + num(b)", "three(...)", "#{ ... } + num(c)", "num(a), ...", "select(-1, ...)", "table.pack(...).n" }, expression("number", 1), expression("string", 1))
  declare("number", name)
end
-- Those of the compiled function itself.
function statements.own_varargs()
  if functions > 0 or not is_vararg then return end
  local name = number_name("n")
  emit(pick { "local %s = select('#', ...)", "local %s = num((...))", "local %s = three(...)", "local %s = #{ %s, ... }", "local _, %s = three(%s, ...)", "local %s = num(select(2, ...))", "local %s = num(table.pack(...)[1])",
    "local %s = num(math.max(%s, select('#', ...)))" }, name, expression("number", 1))
  emit("%s = num(%s)", name, name)
  declare("number", name)
end
function statements.store()
  local list = variable("list")
  if not list then return end
  emit(pick { "if #%s < 9 then %s[#%s + 1] = %s end", "if #%s < 9 then table.insert(%s, 1, num(%s[2]) + %s) end", "if #%s > 1 then table.remove(%s) end", "%s[1] = num(%s[2]) + #%s * %s", "if #%s < 7 then %s[#%s + 1] = { %s } end",
    "table.sort(%s, function(a, b) return num(a) < num(b) end)", "%s.key = #%s" }, list, list, list, expression("number", 1))
end
function statements.object()
  local object = variable("object")
  if object then emit(pick { "%s.v = %s", "%s:set(%s)", "%s.other = %s", "%s[1] = %s", "%s.watched = %s", "rawset(%s, 'v', %s)", "setmetatable(%s, class).v = %s" }, object, expression("number", 1)) end
end
function statements.outside()
  emit(pick { "t0 = t0 * config.scale + config.list[2]", "n0 = num(n0) + #config.list", "if config.flag then n0 = num(n0) + 1 end", "for _, v in ipairs(config.list) do n0 = num(n0) + v end",
    "n0 = num(n0) + (config.absent and 1 or 2)", "t0 = config.layer(t0)", "config.scale = num(config.scale) % 7 + 1", "if #config.list < 6 then config.list[#config.list + 1] = #config.list end", "total = total + 1",
    "PROGRAM_GLOBAL = num(PROGRAM_GLOBAL) + 1", "config.log[#config.log + 1] = calls", "config.kept = t0", "config.flag = not config.flag", "for k, v in pairs(config.map) do n0 = num(n0) + v end",
    "config.log[#config.log + 1] = n0", "table.insert(config.list, num(n0) % 4)", "config.list[#config.list] = calls", "config.list[int(n0) % 5 + 1] = total", "config.list[int(n0) % 3] = nil",
    "do local l = config.list l[#l + 1] = 1 n0 = num(l[1]) + num(l[4]) end", "config.map.extra = (config.map.extra or 0) + 1", "config.map.a = nil", "config.nested = { config.list, n0, config.nested and 1 }" })
end
function statements.broken() if chance(35) then emit(pick { "t0 = t0 * t0:sum():item() * 0.01", "print_nothing(t0)", "n0 = t0:sum():item() > 0 and 1 or 2", "os.time()", "config.log[#config.log + 1] = tostring(calls):len()" }) end end
function statements.raise() if chance(15) then emit("if %s then %s end", expression("boolean", 1), pick(raising)) end end

local weights = { declare = 6, assign = 6, several = 2, branch = 3, count = 3, repeated = 2, jumps = 2, iterate = 3, func = 3, closure = 2, fresh_closures = 1, protected = 3, guarded = 2, closing = 2, coroutine = 1, varargs = 2, own_varargs = 3, store = 4,
  object = 3, outside = 4, broken = 2, raise = 2 }
local order, drawn = {}, {}
for name in pairs(statements) do order[#order + 1] = name end
table.sort(order)
for _, name in ipairs(order) do for _ = 1, weights[name] do drawn[#drawn + 1] = statements[name] end end

function block(n)
  for _ = 1, n do
    if budget <= 0 then return end
    budget = budget - 1
    pick(drawn)()
  end
end

-- The program's world: what closures and metatables of it reach, and a function that gives it all.
local prelude = [[
local tb, config, wrap = ...
local total = 0
local class = {}
class.__index = function(t, k) if k == "computed" then return 12 end return class[k] end
class.inherited = 11
class.__newindex = function(t, k, v) if k == "watched" then total = total + 1 else rawset(t, k, v) end end
class.__call = function(self, a, b) return self.v + a - b end
class.__eq = function(a, b) return a.v == b.v end
class.__lt = function(a, b) return a.v < b.v end
class.__le = function(a, b) return a.v <= b.v end
class.__concat = function(a, b) return "joined" end
class.__len = function(a) return 3 end
local function num(v) return type(v) == "number" and v == v and v > -1e9 and v < 1e9 and v or 0 end
local function int(v) return math.tointeger(num(v)) or 3 end
local function new(v) return setmetatable({ v = num(v) }, class) end
local function value(a) return type(a) == "table" and a.v or a end
class.__add = function(a, b) return new(value(a) + value(b)) end
class.__sub = function(a, b) return new(value(a) - value(b)) end
class.__mul = function(a, b) return new(value(a) * value(b)) end
class.__idiv = function(a, b) return new(value(a)), "dropped" end
class.__unm = function(a) return new(-a.v) end
class[1] = 21
function class:get() return self.v end
function class:set(v) self.v = v end
local function range(n) local i = 0 return function() i = i + 1 if i <= n then return i, i * 2 end end end
local function closer(name) return setmetatable({}, { __close = function(_, e) config.log[#config.log + 1] = { name, e } end }) end
local function print_nothing() end
local function two(v) return v or 1, 2 end
local function three(a, ...) return select("#", ...) + num(a), ... end
local function broken() local nothing return nothing.field end
local function guarded(v, n)
  local y = v * 2
  os.time()
  n = num(n) % 7
  if n < 1 then error("guarded") elseif n < 2 then error({ code = n }) elseif n < 3 then return n + nothing.field elseif n < 4 then config.log[#config.log + 1] = n end
  total = total + 1
  if y:sum():item() > 3 then return y - n, n end
  return total
end
local function handler(m) total = total + 2 return type(m) == "string" and m .. "!" or m end
local function again(n, v, k)
  if n > 0 then
    local ok, m = pcall(again, n - 1, v, k)
    if ok then return m, n end
    error(m, 0)
  end
  return guarded(v, k)
end
local helper = WRAP(function(a, b) total = total + 1 return num(a) * 2 + num(b) end)
return wrap(function(PARAMETERS)
  local calls = 0
  local t0 = x
]]

-- Statements at the outermost level, and in all.
local OUTER, ALL = 6, 12

function M.program(s)
  seed = s * 2654435761 + 12345
  for _ = 1, 5 do random(2) end
  out, names, depth, loops, breakable, functions, budget = {}, 0, 1, 0, false, 0, ALL
  scopes = { { { name = "t0", kind = "tensor" }, { name = "n0", kind = "number" }, { name = "helper", kind = "func" } } }
  is_vararg, helper_is_compiled = chance(35), chance(20)
  block(OUTER)
  local results, shown = {}, { number = true, string = true, boolean = true, tensor = true, list = true, object = true, message = true }
  for _, v in ipairs(scopes[1]) do if shown[v.kind] then results[#results + 1] = v.name end end
  if is_vararg then results[#results + 1] = "..." end
  return prelude:gsub("%u%u%u+", { WRAP = helper_is_compiled and "wrap" or "", PARAMETERS = is_vararg and "x, n0, ..." or "x, n0" }) .. table.concat(out, "\n") .. "\n  return calls, " .. table.concat(results, ", ") .. "\nend), function() return total, PROGRAM_GLOBAL end\n"
end

function M.draw(s) seed = s end
M.random, M.pick, M.chance = random, pick, chance
return M
