-- Registered backends: Lua functions over the graph, and plug-ins. Run by test_lua_backends.c with the name of a part; plug-ins lie
-- in the folder that TB_TEST_PLUGINS names.
local part, tests = ...
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local parts = {}

local x, y = tb.tensor { { 1.0, -2.0 }, { 3.0, 4.0 } }, tb.tensor { { 0.5, 1.0 }, { 2.0, -1.0 } }
local function register(fn)
  tb.register_backend("mine", fn)
  return function(f, options)
    options = options or {}
    options.backend = "mine"
    return tb.compile(f, options)
  end
end

-- What a backend is given.
function parts.graph()
  local seen, examples
  local compile = register(function(graph, inputs)
    seen, examples = graph, inputs
    return graph.forward
  end)
  local function g(a, b) return (a + b):sum { dim = 1 }, a * 2, "text" end
  local line = debug.getinfo(g, "S").linedefined
  local f = compile(g)
  for _ = 1, 2 do assert(plain.describe_all(table.pack(f(x, y))) == plain.describe_all(table.pack(g(x, y)))) end
  assert(#examples == 2 and plain.describe(examples[1]) == plain.describe(x) and plain.describe(examples[2]) == plain.describe(y))
  assert(#seen.inputs == 2 and #seen.outputs == 2 and #seen.sizes == 0)
  local ops = {}
  for i, node in ipairs(seen.nodes) do
    ops[i] = node.op
    for _, input in ipairs(node.inputs) do assert(input < i) end
  end
  assert(table.concat(ops, " "):match("^input input add sum"), table.concat(ops, " "))
  local add = seen.nodes[3]
  assert(add.inputs[1] == seen.inputs[1] and add.inputs[2] == seen.inputs[2] and add.dtype == "f32" and add.shape[1] == 2 and #add.shape == 2)
  assert(add.line == line and add.source:find("backends.lua", 1, true) and seen.nodes[4].attributes.integers[2] == 0)
  assert(seen.text:find("v2 = add v0 v1 : f32[2, 2]", 1, true), seen.text)
  assert(tb.stats(f).backend == "mine" and tb.stats(f).graphs == 1 and #tb.stats(f).fallbacks == 0)
  -- one graph for each stretch between breaks
  local count = 0
  f = register(function(graph) count = count + 1 return graph.forward end)(function(a)
    local b = a * 2
    io.stdout:seek()
    return b + 1
  end)
  assert(plain.describe(f(x)) == plain.describe(x * 2 + 1) and count == 2)
  -- effects, tensors from outside, random numbers
  local w, t = tb.ones(2), {}
  plain.check("effects", function(C)
    local k = C(function(a)
      t.last = a * w
      return t.last:sum(), tb.rand(2), t
    end)
    return function() return k(x), t.last end
  end, { "mine" })
end

-- A backend that evaluates a few operations by itself.
function parts.interpreter()
  local calls = 0
  local compile = register(function(graph)
    return function(...)
      calls = calls + 1
      local values, given = {}, { ... }
      for i, node in ipairs(graph.nodes) do
        local a, b = values[node.inputs[1]], values[node.inputs[2]]
        if node.op == "input" then values[i] = table.remove(given, 1)
        elseif node.op == "add" then values[i] = a + b
        elseif node.op == "mul" then values[i] = a * b
        elseif node.op == "relu" then values[i] = a:relu()
        else error("no operation " .. node.op, 0) end
      end
      local results = {}
      for i, node in ipairs(graph.outputs) do results[i] = values[node] end
      return results -- as a list
    end
  end)
  local function g(a, b) return (a * b + a):relu(), a + b end
  local f = compile(g)
  for _ = 1, 3 do assert(plain.describe_all(table.pack(f(x, y))) == plain.describe_all(table.pack(g(x, y)))) end
  assert(calls == 3)
  plain.raises(function() compile(function(a) return a:exp() end)(x) end, "backends.lua:", "backend 'mine' failed in a call: no operation exp")
  -- an input that is an output is an object of its own only where the plain function makes one
  local same = compile(function(a) return a, a + a end)
  assert(same(x) == x)
end

function parts.dynamic()
  local sizes
  local compile = register(function(graph)
    sizes = graph.sizes
    return function(...)
      local args = { ... }
      assert(#args == #graph.inputs + #graph.sizes)
      return graph.forward(...)
    end
  end)
  local function g(a) return a * 2, a:reshape(-1) end
  local f = compile(g, { dynamic = true })
  for n = 2, 6 do
    local a = tb.randn { n, 3 }
    assert(plain.describe_all(table.pack(f(a))) == plain.describe_all(table.pack(g(a))))
  end
  assert(tb.stats(f).entries == 1 and #sizes >= 1 and sizes[1].name == "s0" and sizes[1].hint == 2)
  local scaled = compile(function(a, s) return a * s end)
  for i = 1, 5 do assert(scaled(x, i / 2)[1][1]:item() == i / 2) end
  assert(tb.stats(scaled).entries == 2)
end

function parts.errors()
  local function f(a) return a + 1 end
  local function fails(fn, ...)
    local c = register(fn)(f)
    plain.raises(function() c(x) end, "backend 'mine' failed", ...)
    plain.raises(function() c(x) end, "backend 'mine' failed", ...) -- each call says so
  end
  fails(function() error("not today", 0) end, "compile: ", "not today")
  fails(function() error({}) end, "table")
  fails(function() error(setmetatable({}, { __tostring = function() error "again" end })) end)
  fails(function() return function() error(setmetatable({}, { __tostring = function() return "told" end })) end end, "told")
  fails(function() end, "it must return a function, got nil")
  fails(function() return 5 end, "it must return a function, got number 5")
  fails(function() return function() end end, "in a call", "it gives 0 outputs, and the graph has 1")
  fails(function() return function() return { x, x } end end, "it gives 2 outputs, and the graph has 1")
  fails(function() return function() return 5 end end, "output 1 is not a tensor, but number 5")
  fails(function() return function() return tb.ones(3) end end, "output 1 is [3] f32, the graph's is [2, 2] f32")
  fails(function() return function(a) return a:to { dtype = "f64" } end end, "output 1 is [2, 2] f64")
  fails(function(graph) return function(a) return graph.forward(a, a) end end, "forward: takes 1 tensors and 0 sizes, got 2")
  fails(function() return function() coroutine.yield() end end, "yield")
  plain.raises(function() tb.register_backend(5, f) end, "register_backend: argument 1 must be the name of a backend, got number 5")
  plain.raises(function() tb.register_backend("", f) end, "1 to 63 characters")
  plain.raises(function() tb.register_backend("inductor", f) end, "'inductor' is the name of a backend of tbench")
  plain.raises(function() tb.register_backend("x", 5) end, "argument 2 must be a function", "number 5")
  plain.raises(function() tb.compile(f, { backend = "nowhere" }) end, "no backend 'nowhere'; backends: eager, aot_eager, inductor, mine")
  tb.register_backend("another", f)
  tb.register_backend("zebra", f)
  assert(table.concat(tb.list_backends(), " ") == "eager aot_eager inductor another mine zebra")
  tb.register_backend("zebra", nil)
  assert(table.concat(tb.list_backends(), " ") == "eager aot_eager inductor another mine")
end

-- Reset and recursion inside of a backend; cycles are collected.
function parts.lives()
  local f
  local inside = 0
  local compile = register(function(graph)
    return function(...)
      inside = inside + 1
      if inside == 1 then
        f(x) -- the same entry, nested
        tb.reset(f)
        collectgarbage()
      end
      return graph.forward(...)
    end
  end)
  f = compile(function(a) return a * 3 end)
  assert(f(x)[1][1]:item() == 3 and f(x)[1][1]:item() == 3)
  assert(tb.stats(f).entries == 1)
  local probe = setmetatable({}, { __mode = "k" })
  do
    local c
    c = register(function(graph) return function(...) return graph.forward(...), c and nil end end)(function(a) return a + 1 end)
    pcall(c, x)
    probe[c] = true
  end
  f = nil
  tb.register_backend("mine", nil)
  collectgarbage()
  collectgarbage()
  assert(next(probe) == nil, "a compiled function whose backend refers to it stays")
end

function parts.plugin()
  local folder = os.getenv "TB_TEST_PLUGINS" .. "/"
  tb.register_backend("loops", folder .. "plugin.so")
  local function g(a, b) return (a * b + a):relu(), a, b + b end
  local f = tb.compile(g, { backend = "loops" })
  for _, pair in ipairs { { x, y }, { y, x }, { x:t(), y }, { tb.randn { 3, 5 }, tb.randn { 3, 5 } }, { tb.ones { 0, 2 }, tb.ones { 0, 2 } }, { x, x } } do
    local a, b = table.unpack(pair)
    assert(plain.describe_all(table.pack(f(a, b))) == plain.describe_all(table.pack(g(a, b))))
  end
  assert(tb.stats(f).backend == "loops" and not tb.stats(f).eager)
  plain.raises(function() tb.compile(function(a) return a:exp() end, { backend = "loops" })(x) end, "backend 'loops' failed: loops: no operation exp")
  plain.raises(function() tb.compile(g, { backend = "loops", dynamic = true }) end, "a plug-in, and takes constant sizes alone")
  local marked = tb.randn { 4, 4 }
  tb.mark_dynamic(marked, 1)
  plain.raises(function() f(marked, marked) end, "takes constant sizes alone", "mark_dynamic")
  plain.raises(function() tb.register_backend("a", folder .. "nowhere.so") end, "backend 'a'", "nowhere.so")
  plain.raises(function() tb.register_backend("b", folder .. "plugin_no_symbol.so") end, "has no symbol tbench_plugin")
  plain.raises(function() tb.register_backend("c", folder .. "plugin_version.so") end, "is made for version 99 of plugin.h, and this is version 1")
  plain.raises(function() tb.register_backend("d", folder .. "plugin_no_run.so") end, "has no function run")
  tb.register_backend("e", folder .. "plugin_run_fails.so")
  plain.raises(function() tb.compile(g, { backend = "e" })(x, y) end, "backend 'e' failed in a call: loops: a run fails")
  assert(table.concat(tb.list_backends(), " ") == "eager aot_eager inductor e loops")
  tb.register_backend("loops", nil)
  f = nil
  collectgarbage()
end

-- graph.forward takes tensors as the graph has them.
function parts.layouts()
  local graph
  tb.register_backend("keeps", function(g) graph = g return g.forward end)
  local f = tb.compile(function(x, y) return x * 2 + y end, { backend = "keeps" })
  f(tb.ones(2, 3), tb.ones(3))
  assert(graph.forward(tb.ones(2, 3), tb.ones(3)):sum():item() == 18)
  local function refuses(text, ...)
    local ok, message = pcall(graph.forward, ...)
    assert(not ok and message:find(text, 1, true), message)
  end
  refuses("argument 1 must be f32[2, 3], as in the graph; got f32[4, 3]", tb.ones(4, 3), tb.ones(3))
  refuses("argument 2 must be f32[3], as in the graph; got f32[]", tb.ones(2, 3), tb.tensor(1.5))
  refuses("got f64[2, 3]", tb.ones({ 2, 3 }, { dtype = "f64" }), tb.ones(3))
  f(tb.ones(5, 3), tb.ones(3)) -- the first size is open now
  assert(#graph.sizes == 1 and graph.forward(tb.ones(7, 3), tb.ones(3), 7):size(1) == 7)
  refuses("argument 1 must be f32[7, 3], as in the graph; got f32[6, 3]", tb.ones(6, 3), tb.ones(3), 7)
end

assert(parts[part], "no such part")()
