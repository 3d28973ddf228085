-- Breaks at every instruction in turn, over functions arranged by the manual (manual.lua, and resume_cases.lua): break_at = 1, 2, …
-- until none is left to be forced, and break_every = 1, 2, 3. Results, what was logged, errors and lines are those of the plain
-- function. Arguments: tb, driver (resume_driver.h), the part of all cases to run, of how many parts. Returns what differs ("" when
-- nothing does), a table whose keys are the opcodes of these functions, the number of functions, and that of the forced breaks.
local tb, driver, part, parts = ...
local folder = debug.getinfo(1, "S").source:match("^@(.*)/")
local describe = assert(loadfile(folder .. "/describe.lua"))(tb)
local failures, opcodes, forced = {}, {}, 0
local CALLS, MOST_FAILURES = 2, 12

local logged
function log(...) logged[#logged + 1] = table.pack(...) end

-- All that a caller can see of the calls.
local function run(case, wrap)
  local made, texts = table.pack(case.make()), {}
  local f = wrap(made[1])
  for call = 1, CALLS do
    logged = {}
    texts[call] = describe(table.pack(pcall(f, table.unpack(made, 2, made.n)))) .. " / " .. describe { logged, n = 1 }
  end
  return table.concat(texts, "\n"), f
end

local function was_forced(object)
  for _, b in ipairs(tb.stats(object).breaks) do if b.detail == "break_at or break_every" then return true end end
  return false
end

-- True: a break was forced.
local function check(case, want, options)
  local got, object = run(case, function(f) return tb.compile(f, { backend = "eager", options = options }) end)
  if want ~= got then
    local name, value = next(options)
    failures[#failures + 1] = ("%s, %s=%s:\n  plain\n%s\n  compiled\n%s"):format(case.name, name, value, want, got)
  end
  local was = was_forced(object)
  if was then forced = forced + 1 end
  return was
end

local function exhaust(case)
  local want = run(case, function(f) return f end)
  check(case, want, { recompile_limit = 8 })
  for every = 1, 3 do check(case, want, { break_every = every }) end
  local at = 1
  while check(case, want, { break_at = at }) do at = at + 1 end
end

local function count_opcodes(f)
  local o = driver.open(f)
  for pc = 0, o:length() - 1 do opcodes[o:opcode(pc)] = true end
end

local all = assert(loadfile(folder .. "/manual.lua"))(tb)
for _, case in ipairs(dofile(folder .. "/resume_cases.lua")) do all[#all + 1] = case end
for i, case in ipairs(all) do
  count_opcodes((case.make()))
  if i % parts == part and #failures < MOST_FAILURES then exhaust(case) end
end
return table.concat(failures, "\n"), opcodes, #all, forced
