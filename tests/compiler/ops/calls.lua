-- Random programs of one to four tensor functions with good and bad arguments, plain and compiled: results (values, dtypes,
-- shapes), errors, random numbers drawn and what shares memory must agree. backend=eager runs the same kernels, so there values
-- agree bit for bit. Run by test_extremes.c with (backend, path of tests/, first seed, number of seeds); a failure tells the
-- program. The functions and their parameters are read from functions.def.
local backend, tests, first_seed, count = ...
first_seed, count = tonumber(first_seed), tonumber(count)
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local F = tb.nn.functional

local seed
local function random(n)
  seed = seed * 6364136223846793005 + 1442695040888963407
  return (seed >> 33) % n + 1
end
local function pick(t) return t[random(#t)] end

-- ways to call: { kind, name, parameters }; no bf16, which kernels round less often than plain code
local calls, skipped = {}, { bfloat16 = true }
for line in io.lines(tests .. "/../../compiler/ops/functions.def") do
  local name, method, func, functional = line:match "^TC_FN%(([%w_]+),%s*(%d),%s*(%d),%s*(%d)"
  if name and not skipped[name] then
    local parameters = {}
    for p in line:match '"(.-)"%s*,%s*"':gmatch "[^,]+" do parameters[#parameters + 1] = p:match "^%s*([%w_%.%*]+)" end
    if method == "1" then calls[#calls + 1] = { "method", name, parameters } end
    if func == "1" then calls[#calls + 1] = { "tb.", name, parameters } end
    if functional == "1" then calls[#calls + 1] = { "F.", name, parameters } end
  end
end
assert(#calls > 150)
for _, operator in ipairs { "+", "-", "*", "/", "//", "%", "^", "==", "<", ".." } do calls[#calls + 1] = { "operator", operator, { "x", "other" } } end
for _, name in ipairs { "size", "stride", "dim", "numel", "is_contiguous" } do calls[#calls + 1] = { "method", name, { "x", "dim" } } end

-- shapes that fit one another, by the shape of the program
local families = { { "{2,3}", "{3}", "{1,3}", "{2,1}", "{}" }, { "{4}", "{1}", "{}" }, { "{2,3,4}", "{4}", "{3,1}", "{1,3,4}" }, { "{3,3}", "{3}", "{}" },
  { "{0,3}", "{1,3}", "{}" }, { "{}", "{1}" }, { "{2,2,3,3}", "{3,3}", "{2,1,1}" } }
local family

local function tensor(shape)
  return pick { "tb.randn(%s)", "tb.randn(%s)", "tb.randn(%s)", "tb.randn(%s, {dtype='f64'})", "((tb.rand(%s) * 2):floor():long() + 1)", "tb.randn(%s):gt(0)",
    "(tb.randn(%s) * tb.tensor(0/0))", "(tb.randn(%s) / 0)", "tb.full(%s, math.maxinteger)", "tb.zeros(%s)" }:format(shape or pick(family))
end

local meanings = {
  dim = { "1", "2", "-1", "-1", "3", "nil" }, diagonal = { "0", "1", "-2" }, keepdim = { "true", "false", "nil" }, dtype = { "nil", "'f64'", "'f32'", "'i64'", "'bool'" },
  device = { "nil", "'cpu'" }, ["..."] = { "2, 3", "{3, 2}", "-1", "6", "2, 1", "1" }, normalized_shape = { "{3}", "{4}", "{2, 3}" }, size = { "{2, 3}", "{}", "{0}" },
  split_size = { "1", "2", "{1, 1}", "-1" }, pad = { "{1, 1}", "{1, 0, 2, 0}", "{-1, 0}" }, rounding_mode = { "nil", "'floor'", "'trunc'" },
  scale = { "nil", "0.5", "-1" }, approximate = { "nil", "'tanh'" }, number = { "1", "2", "0.5", "-1", "0", "1.5", "nil" },
}
for name, as in pairs { dim0 = "dim", dim1 = "dim", start_dim = "dim", end_dim = "dim", is_causal = "keepdim", training = "keepdim", reference_dtype = "device", mode = "device",
  sizes = "size", chunks = "split_size", length = "split_size", start = "split_size", stop = "split_size", step = "split_size" } do meanings[name] = meanings[as] end
local hostile = { "nil", "true", "'abc'", "'1'", "print", "{}", "{1, 2}", "{-1}", "{0}", "{1.0}", "{dim=1}", "{dim=-1, keepdim=true}", "{1, dim=2}", "{dtype='nope'}", "{{1, 2}, {3}}",
  "setmetatable({}, {__index={dim=1}})", "{1,2,3,4,5,6,7,8,9}", "io.stdout", "0/0", "1/0", "math.mininteger", "1 << 61", "2^53", "-3", "0" }

local function value(parameter)
  if random(12) == 1 then return pick(hostile) end
  if parameter == "x" or parameter == "other" then return tensor() end
  if parameter == "query" or parameter == "key" or parameter == "value" then return tensor(family[1]) end
  if parameter == "index" then return ("((tb.rand(%s) * 2):floor():long() + 1)"):format(pick(family)) end
  if parameter == "mask" or parameter == "condition" or parameter == "attn_mask" then return ("tb.randn(%s):gt(0)"):format(pick(family)) end
  if parameter == "weight" or parameter == "bias" then return pick { "nil", "tb.randn({3})", "tb.randn({4})", "tb.randn({3, 3})", "tb.randn({2, 3})" } end
  if parameter == "tensors" then return ("{%s, %s}"):format(tensor(family[1]), tensor(family[1])) end
  return pick(meanings[parameter] or meanings.number)
end

-- The text of a chunk that gives the function and a maker of its arguments.
local function program(s)
  seed = s * 7919 + 17
  for _ = 1, 5 do random(2) end
  family = pick(families)
  local arguments, lines, names = {}, {}, {}
  local function operand(parameter)
    if #names > 0 and random(2) == 1 and (parameter == "x" or parameter == "other") then return pick(names) end
    local text = value(parameter)
    if parameter == "..." or random(6) == 1 then return text end
    arguments[#arguments + 1] = text
    return "a" .. #arguments
  end
  for i = 1, random(4) do
    local kind, name, parameters = table.unpack(pick(calls))
    local n = random(3) == 1 and random(#parameters) or #parameters
    local list = {}
    for k = 1, n do
      if parameters[k] == "*" then break end
      list[k] = operand(parameters[k])
    end
    local rest = table.concat(list, ", ", 2)
    local text
    if kind == "operator" then text = ("%s %s %s"):format(list[1], name, list[2] or "1")
    elseif kind == "method" then text = ("(%s):%s(%s)"):format(list[1], name, rest)
    else text = ("%s%s(%s)"):format(kind, name, table.concat(list, ", ")) end
    names[#names + 1] = "v" .. i
    lines[#lines + 1] = ("local v%d = %s"):format(i, text)
  end
  local parameters = {}
  for i = 1, #arguments do parameters[i] = "a" .. i end
  return ("local tb, F = ...\nlocal function f(%s)\n%s\nreturn %s\nend\nreturn f, function() return %s end"):format(table.concat(parameters, ", "),
    table.concat(lines, "\n"), table.concat(names, ", "), table.concat(arguments, ", "))
end

local tolerance = { f32 = 2e-5, f64 = 1e-5 } -- f64 may hold what was computed in f32
local function near(a, b, allowed) return a == b or (a ~= a and b ~= b) or (allowed > 0 and math.abs(a - b) <= allowed * math.max(1, math.abs(a), math.abs(b))) end

local function same(a, b)
  if tb.is_tensor(a) then
    if not tb.is_tensor(b) or a.dtype ~= b.dtype or table.concat(a.shape, ",") ~= table.concat(b.shape, ",") then return false end
    local p, q, allowed = a:reshape(-1):tolist(), b:reshape(-1):tolist(), backend ~= "eager" and tolerance[a.dtype] or 0
    for i = 1, #p do
      if type(p[i]) == "boolean" and p[i] ~= q[i] or type(p[i]) ~= "boolean" and not near(p[i], q[i], allowed) then return false end
    end
    return true
  end
  if math.type(a) ~= math.type(b) or type(a) ~= type(b) then return false end
  if type(a) == "table" then
    for k, v in pairs(a) do if not same(v, b[k]) then return false end end
    for k in pairs(b) do if a[k] == nil then return false end end
    return true
  end
  if type(a) == "string" then return a:gsub("0x%x+", "") == b:gsub("0x%x+", "") end
  if type(a) == "number" then return near(a, b, backend ~= "eager" and 1e-5 or 0) end
  return type(a) == "function" or type(a) == "userdata" or a == b
end

-- Which results are, or share memory with, which results and arguments.
local function sharing(results, arguments)
  local all, text = {}, {}
  for i = 2, results.n do all[#all + 1] = results[i] end
  for i = 1, arguments.n do all[#all + 1] = arguments[i] end
  local function place(v) return tb.is_tensor(v) and v:numel() > 0 and v:data_ptr() end
  for i = 1, #all do
    for k = i + 1, #all do text[#text + 1] = rawequal(all[i], all[k]) and "=" or place(all[i]) and place(all[i]) == place(all[k]) and "~" or "." end
  end
  return table.concat(text)
end

local captured, good = 0, 0
for s = first_seed, first_seed + count - 1 do
  local text = program(s)
  local chunk = load(text, "=program")
  local f, make
  if chunk then f, make = chunk(tb, F) end
  local function arguments() tb.manual_seed(s) return table.pack(make()) end
  if make and pcall(arguments) then
    local given = arguments()
    local want = table.pack(pcall(f, table.unpack(given, 1, given.n)))
    local drawn = tb.rand(1):item()
    local compiled = tb.compile(f, { backend = backend })
    for call = 1, 2 do
      local given_again = arguments()
      local got = table.pack(pcall(compiled, table.unpack(given_again, 1, given_again.n)))
      local agrees = want.n == got.n and drawn == tb.rand(1):item() and same(given, given_again)
      for i = 1, want.n do agrees = agrees and same(want[i], got[i]) end
      if agrees and want[1] then agrees = sharing(want, given) == sharing(got, given_again) end
      if not agrees then
        error(("seed %d, %s, call %d: plain %s\ncompiled %s\n%s"):format(s, backend, call, plain.describe_all(want), plain.describe_all(got), text), 0)
      end
    end
    if want[1] then good = good + 1 end
    if tb.stats(compiled).entries > 0 then captured = captured + 1 end
  end
end
assert(good > count // 5 and captured > good * 9 // 10, ("of %d programs %d are good and %d captured"):format(count, good, captured))
