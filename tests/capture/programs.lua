-- Random Lua programs (generator.lua), each run plain and compiled in five settings. Results, side effects, error messages and
-- their lines must be equal. Arguments: tb, first seed, number of programs, and a function that turns a full collection at
-- each allocation on and off (or nil). 1 program in 20 runs so; 1 in 40 on the back end inductor, others
-- on eager. Returns a report of the first difference ("" when there is none), and how many programs were captured.
local tb, first_seed, count, stress = ...
local generator = dofile(debug.getinfo(1, "S").source:match("^@(.*)/") .. "/generator.lua")
local random, pick = generator.random, generator.pick
stress = stress or function() end

local function config()
  local layer = setmetatable({ w = tb.tensor({ 0.5 }, { dtype = "f32" }) }, { __call = function(self, x) return x * self.w end })
  return { scale = 2, list = { 3, 4, 5 }, flag = true, layer = layer, log = {}, map = { a = 1, b = 2 } }
end

-- Lua up to 5.4.4 tells an integer division by zero with the line of whatever saved its place before.
local function stale_line(text)
  return (text:gsub("program:%d+: (attempt to divide by zero)", "%1"):gsub("program:%d+: (attempt to perform 'n%%%%0')", "%1"))
end

local function describe_tensor(t)
  local list = t:reshape(-1):tolist()
  for i, v in ipairs(list) do list[i] = v == v and ("%a"):format(v) or "nan" end
  return ("%s[%s](%s)"):format(t.dtype, table.concat(t.shape, ","), table.concat(list, ","))
end

-- Equal texts: equal values, and tables that are one table at the same places.
local function describe(v, seen)
  local kind = type(v)
  if kind == "number" then return v == v and math.type(v) .. " " .. (math.type(v) == "float" and ("%a"):format(v) or v) or "nan" end
  if kind == "string" then return ("%q"):format(stale_line(v)) end
  if kind ~= "table" then return tb.is_tensor(v) and describe_tensor(v) or kind == "boolean" and tostring(v) or kind end
  if seen[v] then return "<" .. seen[v] .. ">" end
  seen.count = (seen.count or 0) + 1
  seen[v] = seen.count
  local keys, fields = {}, {}
  for k in next, v do keys[#keys + 1] = k end
  table.sort(keys, function(a, b) return (type(a) .. tostring(a)) < (type(b) .. tostring(b)) end)
  for i, k in ipairs(keys) do fields[i] = tostring(k) .. "=" .. describe(v[k], seen) end
  return "{" .. table.concat(fields, ", ") .. "}"
end
local function describe_all(seen, list)
  local texts = {}
  for i = 1, list.n do texts[i] = describe(list[i], seen) end
  return table.concat(texts, " | ")
end

local tensors = { tb.tensor({ 1.5, -2 }, { dtype = "f32" }), tb.tensor({ 0.25, 4 }, { dtype = "f32" }), tb.tensor({ 1, 2, -3 }, { dtype = "f32" }) }
local changes = { { 1, 3 }, { 2, 3 }, { 3, 4 }, { 1, 2.5 }, { 3, 4 }, { 1, "7" }, { 2, 5 }, { 3, -1 } }

local function stressed(f, ...)
  stress(true)
  local results = table.pack(pcall(f, ...))
  stress(false)
  return results
end

-- What the calls say, and the world after each. The program is made anew; `draws` are the changes of its arguments.
local function run(text, wrap, draws, call)
  PROGRAM_GLOBAL = nil
  local world = config()
  local chunk, message = load(text, "=program", "t")
  if not chunk then error(message .. "\n" .. text, 0) end
  local f, others = chunk(tb, world, wrap)
  local told = {}
  for i, change in ipairs(draws) do
    told[i] = describe_all({}, call(f, tensors[change[1]], change[2])) .. " / " .. describe_all({}, table.pack(world, others()))
  end
  return told, f
end

local function settings(s)
  generator.draw(s * 977)
  for _ = 1, 3 do random(2) end
  local every = random(9)
  return { {}, { options = { break_at = random(24) } }, { options = { break_every = every } }, { dynamic = true }, { options = { break_every = pick { 1, 2, 3 } }, dynamic = pick { true, false } } }
end

local function shown(setting)
  local texts = {}
  for k, v in pairs(setting.options or {}) do texts[#texts + 1] = ("%s=%s"):format(k, v) end
  if setting.dynamic ~= nil then texts[#texts + 1] = ("dynamic=%s"):format(setting.dynamic) end
  return ("backend=%s %s"):format(setting.backend, table.concat(texts, " "))
end

local function check(s)
  local text = generator.program(s)
  local list, draws = settings(s), { changes[1] }
  for i = 2, 3 do draws[i] = pick(changes) end
  local function call(...) return table.pack(pcall(...)) end
  local want = run(text, function(f) return f end, draws, call)
  local captured
  for i, setting in ipairs(list) do
    setting.backend = s % 40 == 0 and "inductor" or "eager"
    local got, f = run(text, function(f) return tb.compile(f, setting) end, draws, s % 20 == 0 and stressed or call)
    for k = 1, #draws do
      if want[k] ~= got[k] then
        return false, ("program %d, %s, call %d:\n  plain    %s\n  compiled %s\n%s"):format(s, shown(setting), k, want[k], got[k], text)
      end
    end
    if i == 1 then
      local known, stats = pcall(tb.stats, f)
      captured = known and not stats.eager
    end
  end
  return true, captured
end

local captured = 0
for s = first_seed, first_seed + count - 1 do
  local good, what = check(s)
  if not good then return what, captured end
  if what then captured = captured + 1 end
end
return "", captured
