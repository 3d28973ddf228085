-- Random Lua programs (generator.lua), each run plain and compiled in five settings. Results, side effects, error messages and
-- their lines must be equal. Arguments: tb, first seed, number of programs, and a function that turns a full collection at
-- each allocation on and off (or nil). 1 program in 20 runs so; 1 in 40 on the back end inductor, others
-- on eager. Returns a report of the first difference ("" when there is none), and how many programs were captured.
local tb, first_seed, count, stress = ...
local folder = debug.getinfo(1, "S").source:match("^@(.*)/")
local generator, describe = dofile(folder .. "/generator.lua"), assert(loadfile(folder .. "/describe.lua"))(tb)
local random, pick = generator.random, generator.pick
stress = stress or function() end

local function config()
  local layer = setmetatable({ w = tb.tensor({ 0.5 }, { dtype = "f32" }) }, { __call = function(self, x) return x * self.w end })
  return { scale = 2, list = { 3, 4, 5 }, flag = true, layer = layer, log = {}, map = { a = 1, b = 2 } }
end

local MOST_RECOMPILES = 10000 -- 1 program in 16 runs into a limit, which is told on standard error
local tensors = { tb.tensor({ 1.5, -2 }, { dtype = "f32" }), tb.tensor({ 0.25, 4 }, { dtype = "f32" }), tb.tensor({ 1, 2, -3 }, { dtype = "f32" }) }
local changes = { { 1, 3, n = 2 }, { 2, 3, "more", nil, 4, n = 5 }, { 3, 4, n = 2 }, { 1, 2.5, 9, n = 3 }, { 3, 4, nil, n = 3 }, { 1, "7", 1, 2, n = 4 }, { 2, 5, n = 2 }, { 3, -1, {}, n = 3 } } -- a tensor, and other arguments
for _, change in ipairs(changes) do change[1] = tensors[change[1]] end

local function stressed(f, ...)
  stress(true)
  local results = table.pack(pcall(f, ...))
  stress(false)
  return results
end

-- What the calls say, and the world after each. The program is made anew; `draws` are the changes of its arguments.
local function run(chunk, wrap, draws, call)
  PROGRAM_GLOBAL = nil
  local world = config()
  local f, others = chunk(tb, world, wrap)
  local told = {}
  for i, change in ipairs(draws) do
    told[i] = describe(call(f, table.unpack(change, 1, change.n))) .. " / " .. describe(table.pack(world, others()))
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
  local chunk, message = load(text, "=program", "t")
  if not chunk then return false, message .. "\n" .. text end
  local want = run(chunk, function(f) return f end, draws, call)
  local captured
  for i, setting in ipairs(list) do
    setting.backend = s % 40 == 0 and "inductor" or "eager"
    setting.options = setting.options or {}
    setting.options.recompile_limit = s % 16 == 0 and 2 or MOST_RECOMPILES
    local got, f = run(chunk, function(f) return tb.compile(f, setting) end, draws, s % 20 == 0 and i % 2 == 1 and stressed or call)
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
