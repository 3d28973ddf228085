-- Steps and continuations against plain runs, over resume_cases.lua. Arguments: driver (resume_driver.h), the cases, the most
-- instructions at which a run is taken up. Returns what differs ("" when nothing does), and a table of counts.
local driver, cases, most = ...
local counts = { stepped = {}, cut = 0, open = 0, kept = 0 }
local failures = {}

local logged
function log(...) logged[#logged + 1] = table.pack(...) end

local function show(v, seen)
  if type(v) == "number" and v ~= v then return "nan" end
  if type(v) == "string" then return ("%q"):format(v) end
  if type(v) == "function" then return "function" end
  if type(v) ~= "table" then return tostring(v) end
  if seen[v] then return "seen" .. seen[v] end
  seen.n = seen.n + 1
  seen[v] = seen.n
  local keys, text = {}, {}
  for k in pairs(v) do keys[#keys + 1] = k end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for i, k in ipairs(keys) do text[i] = show(k, seen) .. "=" .. show(v[k], seen) end
  return "{" .. table.concat(text, ",") .. "}"
end
local function shown(list)
  local text, seen = {}, { n = 0 }
  for i = 1, list.n do text[i] = show(list[i], seen) end
  for _, entry in ipairs(logged) do
    text[#text + 1] = "|"
    for i = 1, entry.n do text[#text + 1] = show(entry[i], seen) end
  end
  return table.concat(text, " ")
end

local gives_functions
local function disturb(n) if n == 0 then return "stack" end local a, b, c, d = n, n, n, n; return (disturb(n - 1)), a, b, c, d end
-- The results with what functions among them give: the stack where their variables lived has been used since.
local function with_calls(ok, ...)
  local list = table.pack(ok, ...)
  disturb(50)
  for i = 1, gives_functions and list.n or 0 do
    if type(list[i]) == "function" then log(list[i]()) end
  end
  return list
end

-- One call site, so that error(…, 2) names the same line whatever is called. What was logged before counts.
local function go_on(before, f, ...)
  logged = before
  return shown(with_calls(xpcall(function(...)
    local results = table.pack(f(...))
    return table.unpack(results, 1, results.n)
  end, function(message) return type(message) == "string" and message or { message } end, ...)))
end
local function run(...) return go_on({}, ...) end

local function differs(case, what, want, got)
  failures[#failures + 1] = ("%s, %s:\n  plain   %s\n  resumed %s"):format(case.name, what, want, got)
end

-- Steps until `limit` of them are done; then the continuation.
local function stepper(object, limit)
  local done, cache = 0, {}
  local function next_piece(pc, ...)
    done = done + 1
    for i = 0, object:registers(pc) - 1 do
      if not object:is_live(pc, i) and select(i + 1, ...) ~= nil then error(("register %d is dead at %d, but not nil"):format(i, pc)) end
    end
    if done > limit then return assert(object:continuation(pc)), ... end
    counts.stepped[object:opcode(pc)] = true
    cache[pc] = cache[pc] or assert(object:step(pc, -1, next_piece))
    return cache[pc], ...
  end
  return function(f, ...)
    local given, fixed = table.pack(...), debug.getinfo(f, "u").nparams
    local kept = object:registers(0)
    local passed, n = {}, 0
    for i = 1, kept do if object:is_live(0, i - 1) then passed[i] = given[i] end end
    n = kept
    if debug.getinfo(f, "u").isvararg then for i = fixed + 1, given.n do n = n + 1; passed[n] = given[i] end end
    return next_piece(0, table.unpack(passed, 1, n))
  end, function() return done end
end

local function check_chain(case, want)
  for limit = 0, most do
    local made = table.pack(case.make())
    local object = driver.open(made[1])
    local enter, done = stepper(object, limit)
    local entry = table.pack(enter(made[1], table.unpack(made, 2, made.n)))
    local got = run(table.unpack(entry, 1, entry.n))
    if got ~= want then return differs(case, ("a continuation after %d steps"):format(limit), want, got) end
    if done() <= limit then break end
  end
  local made = table.pack(case.make())
  local enter = stepper(driver.open(made[1]), math.huge)
  local entry = table.pack(enter(made[1], table.unpack(made, 2, made.n)))
  local got = run(table.unpack(entry, 1, entry.n))
  if got ~= want then differs(case, "steps to the end", want, got) end
end

-- A run is given up before its n-th instruction; what it held goes to the step, or to the continuation.
local function check_stops(case, want)
  for n = 0, most do
    for _, by_step in ipairs { true, false } do
      local made = table.pack(case.make())
      local object = driver.open(made[1])
      logged = {}
      local stopped = table.pack(object:stop(n, table.unpack(made, 2, made.n)))
      if not stopped[1] then return end
      local pc, open = stopped[1], stopped[2]
      local may, why = object:may_cut(pc)
      if not may then
        counts.kept = counts.kept + 1
        assert(why and (open >= 0 or not object:continuation(pc)), "a frame that may not be cut was cut")
      elseif by_step or open < 0 then
        local before, piece = logged
        local enter_next = select(1, function(to, ...) return object:continuation(to), ... end)
        if by_step then piece = assert(object:step(pc, open, enter_next)) else piece = assert(object:continuation(pc)) end
        counts.cut = counts.cut + 1
        if by_step then counts.stepped[object:opcode(pc)] = true end
        if open >= 0 then counts.open = counts.open + 1 end
        local got = go_on(before, piece, table.unpack(stopped, 3, stopped.n))
        if got ~= want then return differs(case, ("%s at instruction %d (%s), the %d-th executed"):format(by_step and "a step" or "a continuation", pc, object:opcode(pc), n), want, got) end
      end
    end
  end
end

local function check_poisoned(case)
  local made = table.pack(case.make())
  logged = {}
  local want = shown(table.pack(pcall(table.unpack(made, 1, made.n))))
  made = table.pack(case.make())
  local object = driver.open(made[1])
  logged = {}
  local got = shown(table.pack(object:poisoned(table.unpack(made, 2, made.n))))
  local function without_line(text) return (text:gsub('"[^"]-:%d+: ', '"')) end
  if without_line(want) ~= without_line(got) then differs(case, "dead registers overwritten", want, got) end
end

local function check_copy(case, want)
  local made = table.pack(case.make())
  local copy = driver.open(made[1]):copy()
  local got = run(copy, table.unpack(made, 2, made.n))
  if got ~= want then return differs(case, "encoded and loaded", want, got) end
  local a, b = debug.getinfo(made[1], "SLu"), debug.getinfo(copy, "SLu")
  logged = {}
  if shown { a, n = 1 } ~= shown { b, n = 1 } then differs(case, "its debug information", shown { a, n = 1 }, shown { b, n = 1 }) end
end

for _, case in ipairs(cases) do
  local made = table.pack(case.make())
  gives_functions = case.gives_functions
  local want = run(table.unpack(made, 1, made.n))
  check_copy(case, want)
  check_chain(case, want)
  if not case.runs_whole then
    check_stops(case, want)
    check_poisoned(case)
  end
end
local opcodes = {} -- where a step began
for name in pairs(counts.stepped) do opcodes[#opcodes + 1] = name end
counts.opcodes, counts.cases = #opcodes, #cases
return table.concat(failures, "\n"), counts
