-- Plain against compiled: what tests of the Lua side share. The file returns a table of functions.
local tb = require "tbench"
local M = {}

M.backends = { "eager", "aot_eager", "inductor" }

local function describe_tensor(t)
  local list = {}
  if t:numel() <= 64 then
    for i, e in ipairs(t:reshape(-1):tolist()) do list[i] = type(e) == "number" and string.format("%.5g", e):gsub("%-nan", "nan") or tostring(e) end
  end
  return ("%s[%s](%s)"):format(t.dtype, table.concat(t.shape, ","), table.concat(list, ","))
end

-- A text in which equal values look alike: numbers with their type, tensors with dtype, shape and elements (NaN without a
-- sign), tables by their sorted fields, no addresses.
function M.describe(v, seen)
  if tb.is_tensor(v) then return describe_tensor(v) end
  if type(v) ~= "table" then return ((math.type(v) or type(v)) .. " " .. tostring(v)):gsub("0x%x+", ""):gsub("%-nan", "nan") .. "" end
  seen = seen or {}
  if seen[v] then return "<again>" end
  seen[v] = true
  local fields = {}
  for k, x in pairs(v) do
    local key = type(k) == "table" and "table" or tb.is_tensor(k) and "tensor" or tostring(k)
    fields[#fields + 1] = key .. "=" .. M.describe(x, seen)
  end
  table.sort(fields)
  seen[v] = nil
  return "{" .. table.concat(fields, ", ") .. "}"
end

function M.describe_all(results)
  local texts = {}
  for i = 1, results.n do texts[i] = M.describe(results[i]) end
  return table.concat(texts, " | ")
end

-- make(wrap) returns a function and its arguments; it wraps whatever is to be compiled. Made anew for the plain side and for
-- each backend, and called three times: results, or errors, must be described alike. `stats` takes the compiled objects.
function M.check(name, make, backends, objects)
  local function run(wrap)
    tb.manual_seed(7)
    local made, texts = table.pack(make(wrap)), {}
    for call = 1, 3 do texts[call] = M.describe_all(table.pack(pcall(table.unpack(made, 1, made.n)))) end
    return texts
  end
  local want = run(function(f) return f end)
  for _, backend in ipairs(backends or M.backends) do
    local got = run(function(f, options)
      options = options or {}
      options.backend = backend
      local compiled = tb.compile(f, options)
      if objects then objects[#objects + 1] = compiled end
      return compiled
    end)
    for call = 1, 3 do
      if got[call] ~= want[call] then
        error(("%s, %s, call %d:\n  plain    %s\n  compiled %s"):format(name, backend, call, want[call], got[call]), 0)
      end
    end
  end
end

-- As check, and every object must have been captured whole.
function M.check_captured(name, make, backends)
  local objects = {}
  M.check(name, make, backends, objects)
  for _, object in ipairs(objects) do
    local stats = tb.stats(object)
    if #stats.fallbacks > 0 then error(name .. ": " .. stats.fallbacks[1], 0) end
  end
end

-- note(…), a C function that capture does not know, keeps what it is given; taken() gives and forgets it, as a text.
function M.recorder()
  local log = {}
  local note = coroutine.wrap(function(...)
    local args = table.pack(...)
    while true do
      log[#log + 1] = M.describe_all(args)
      args = table.pack(coroutine.yield())
    end
  end)
  local function taken()
    local text = table.concat(log, "; ")
    log = {}
    return text
  end
  return note, taken
end

-- A checker of functions that break. make() gives a function and its arguments, anew for each side. Compiled with each of the settings,
-- called `calls` times: results or errors, and what a recorder (`taken`) kept, are those of the plain function. Gives the stats of the
-- first object, made without forced breaks.
local settings = { {}, { break_every = 1 }, { break_every = 2 }, { break_every = 3 }, { break_every = 5 }, { break_at = 4 }, { break_at = 9 } }
function M.breaking(taken)
  local function run(make, calls, wrap)
    tb.manual_seed(7)
    local made, texts = table.pack(make()), {}
    made[1] = wrap(made[1])
    for call = 1, calls do texts[call] = M.describe_all(table.pack(pcall(table.unpack(made, 1, made.n)))) .. " / " .. taken() end
    return texts, made[1]
  end
  local function compare(name, want, got, backend, switches)
    for call = 1, #want do
      if got[call] ~= want[call] then
        local which = ""
        for k, v in pairs(switches) do which = which .. (", %s=%d"):format(k, v) end
        error(("%s, %s%s, call %d:\n  plain    %s\n  compiled %s"):format(name, backend, which, call, want[call], got[call]), 0)
      end
    end
  end
  return function(name, make, calls)
    calls = calls or 3
    local want = run(make, calls, function(f) return f end)
    local first
    for _, backend in ipairs { "eager", "inductor" } do
      for _, switches in ipairs(settings) do
        local got, object = run(make, calls, function(f) return tb.compile(f, { backend = backend, options = switches }) end)
        first = first or tb.stats(object)
        compare(name, want, got, backend, switches)
      end
    end
    return first
  end
end

-- The function must raise, and the message must hold each of the texts.
function M.raises(f, ...)
  local ok, message = pcall(f)
  if ok then error("no error, but one that says: " .. table.concat({ ... }, " … "), 2) end
  for _, text in ipairs { ... } do
    if not tostring(message):find(text, 1, true) then error(("the error %q does not say %q"):format(tostring(message), text), 2) end
  end
  return message
end

function M.entries(f) return tb.stats(f).entries end

-- A compiled function gives what the plain one does.
function M.same(f, g, ...)
  local got, want = M.describe_all(table.pack(f(...))), M.describe_all(table.pack(g(...)))
  if got ~= want then error(("compiled %s, plain %s"):format(got, want), 2) end
end

return M
