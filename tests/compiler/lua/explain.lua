-- tb.explain and tb.stats: what they tell of graphs, breaks, guards and recompiles. Run by test_lua_debug.c with the name of a part.
local part = ...
local tb = require "tbench"
local parts = {}
local x = tb.randn(6, 8)

local function has(text, wanted) assert(text:find(wanted, 1, true), ("%q is not in:\n%s"):format(wanted, text)) end

-- The places of all the texts in a longer one, in that order.
local function in_order(text, ...)
  local at = 1
  for _, wanted in ipairs { ... } do
    local first, last = text:find(wanted, at, true)
    assert(first, ("%q is not in, or not behind what comes before it:\n%s"):format(wanted, text))
    at = last + 1
  end
end

local calls = 0
local count = coroutine.wrap(function() while true do calls = calls + 1 coroutine.yield() end end) -- a C function

function parts.explanation()
  local w, kept = tb.randn(8, 8), {}
  local function f(a)
    local b = a:matmul(w):relu()
    count()
    kept.last = b
    return b:softmax(-1), { first = b, second = "text" }
  end
  local line = debug.getinfo(f, "S").linedefined
  local told = tb.explain(f)(x)
  local text = tostring(told)
  assert(told.text == text and calls == 1 and kept.last)
  assert(#told.pieces == 2 and #told.breaks == 1 and told.graphs == 2)
  local first, second = told.pieces[1], told.pieces[2]
  assert(first.kind == "function" and first.line == line and second.kind == "continuation" and second.line == line + 3, second.line)
  assert(first.chunk:sub(1, 1) == "@" and first.last_line == line + 5)
  local entry = first.entries[1]
  assert(entry.break_number == 1 and told.breaks[1].line == line + 2 and #entry.operations == 2 and entry.ops == 2)
  assert(entry.operations[1].text:find "^v%d+ = matmul v0 v1 : f32%[6, 8%]$" and entry.operations[1].line == line + 1)
  has(entry.graph, "return v3")
  has(table.concat(entry.guards, "\n"), "a is a tensor f32[6, 8]")
  has(table.concat(entry.guards, "\n"), "w is a tensor f32[8, 8]")
  assert(entry.open == "" and entry.hands_on and not entry.returns)
  assert(entry.launches[1].kind == "library" and entry.launches[2].kind == "kernel")
  entry = second.entries[1]
  assert(not entry.break_number and #entry.launches == 1)
  has(entry.returns, "'second' = 'text'")
  has(entry.returns, "kept.last = ")
  in_order(text, "graphs: 2, graph breaks: 1", ":" .. line .. ": graph 1", "matmul v0 v1", "launches:", "guards:", "a is a tensor", "graph break 1: ",
    ":" .. line + 2 .. ": ", "hint: ", "in: ", ":" .. line + 3 .. ": graph 2", "softmax", "returns: output 0, {")
  told = tb.explain(f, { dynamic = true })(x)
  assert(told.pieces[1].entries[1].open:find("a:size(1) = s", 1, true))
  has(tostring(told), "left open: a:size(1) = s")
  -- what is not explained keeps no text
  local plain = tb.compile(f)
  plain(x)
  assert(not tb.stats(plain).pieces)
end

function parts.recompiles()
  local function f(a, n) return a * n end
  local explained = tb.explain(f, { dynamic = false })
  assert(#explained(x, 2).recompile_reasons == 0)
  local told = explained(x, 3)
  assert(told.recompiles == 1 and #told.recompile_reasons == 1)
  has(told.recompile_reasons[1], "n == 2")
  has(told.recompile_reasons[1], "now: 3")
  has(tostring(told), "recompile 1: n == 2 (now: 3)")
  assert(#told.pieces[1].entries == 2)
  local compiled = tb.compile(f, { dynamic = false })
  for n = 1, 3 do compiled(x, n) end
  local reasons = tb.stats(compiled).recompile_reasons
  assert(#reasons == 2)
  has(reasons[2], "n == 2 (now: 3)")
  tb.reset(compiled)
  assert(#tb.stats(compiled).recompile_reasons == 0)
  -- behind a break
  local function g(a, n)
    count()
    return a * n
  end
  compiled = tb.compile(g, { dynamic = false })
  for n = 1, 2 do compiled(x, n) end
  reasons = tb.stats(compiled).recompile_reasons
  assert(#reasons == 1, #reasons)
  has(reasons[1], "(now: 2)")
end

-- What comes behind a break that cannot be left runs eagerly, and is told.
function parts.eager()
  local function f(a)
    local closing <close> = setmetatable({}, { __close = function() end })
    count()
    return a + 1
  end
  local told = tb.explain(f)(x)
  in_order(tostring(told), "graphs: 0, graph breaks: 1", ": nothing to compute", "graph break 1: ", "fallback: ", "runs eagerly")
  assert(#told.pieces[1].entries == 1 and not told.pieces[1].entries[1].artifact and #told.fallbacks == 1)
end

assert(parts[part], "no such part")()
