-- tb.compile as its callers see it: what it takes and returns, compiled functions inside of captured ones, functions of the
-- module inside of captured ones, errors of compiled code. Run by test_lua_compile.c with the name of a part.
local part, tests = ...
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local nn, F = tb.nn, tb.nn.functional
local parts = {}

-- A compiled function or module that a captured function calls is inlined, with guards as for any closure.
function parts.inlined()
  local x = tb.ones(2, 2)
  plain.check_captured("function", function(C)
    local inner = C(function(v) return v * 2 end)
    return C(function(v) return inner(v) + 1 end), x
  end)
  plain.check_captured("modules", function(C)
    local first, rest = C(nn.Linear(2, 2)), C(nn.Sequential { nn.ReLU(), nn.Linear(2, 3) })
    return C(function(v) return rest(first(v)) end), x
  end)
  plain.check_captured("its own options play no part", function(C)
    local inner = C(function(v) return v.shape, v + 1 end, { fullgraph = true })
    return C(function(v) return inner(v) end), x
  end)
  plain.check_captured("itself", function(C)
    local f
    f = C(function(v, n) if n == 0 then return v end return f(v + n, n - 1) end)
    return f, x, 20
  end)
  plain.check_captured("as metamethods and iterators", function(C)
    local object = setmetatable({}, { __index = C(function(_, k) return k .. "!" end), __add = C(function(_, b) return b * 2 end),
      __call = C(function(_, a, b) return a, b end) })
    local step = C(function(s, i) if i < s then return i + 1 end end)
    return C(function(v)
      local sum = v
      for i in step, 3, 0 do sum = sum + i end
      return object.name, object + v, object(v, 1), sum
    end), x
  end)
  -- another function in its place is another graph
  local one, two = tb.compile(function(v) return v + 1 end), tb.compile(function(v) return v + 2 end)
  local current = one
  local outer = tb.compile(function(v) return current(v) end, { fullgraph = true })
  assert(outer(x):sum():item() == 8)
  current = two
  assert(outer(x):sum():item() == 12 and tb.stats(outer).entries == 2)
  -- a break inside is the outer one's
  local breaks = tb.compile(function(v) os.time() return v end)
  local around = tb.compile(function(v) return breaks(v) * 2 end)
  assert(around(x):sum():item() == 8)
  assert(tb.stats(around).breaks[1].name == "C_FUNCTION" and tb.stats(around).breaks[1].stack:find("breaks", 1, true))
end

-- The operand without a metamethod is guarded too: a later call may bring one that has it.
function parts.passed_over()
  local function with(event, value) return setmetatable({}, { [event] = function() return value end }) end
  local cases = {
    __add = function(a, b) return a + b end, __lt = function(a, b) return a < b end, __le = function(a, b) return a <= b end,
    __concat = function(a, b) return a .. b end, __mul = function(a, b) return a * b end,
  }
  for event, f in pairs(cases) do
    local compiled, second = tb.compile(f), with(event, 2)
    for _, first in ipairs { 3, print, true, with(event, 1), 3, with(event, false) } do
      local want, got = f(first, second), compiled(first, second)
      assert(want == got, ("%s of a %s: %s, and plain gives %s"):format(event, type(first), tostring(got), tostring(want)))
    end
  end
end

-- A cast that the program asks for is made: values are rounded, whatever is fused around it.
function parts.casts()
  local x = tb.randn(7, 33) * 1000
  local programs = {
    function(v) return v:bfloat16():float() end, function(v) return v - v:bfloat16() end,
    function(v) return v:to "bf16":to "f32":sum(-1) end, function(v) return (v * 1.7):bfloat16():float():softmax(-1) end,
    function(v) local b = v:to "bf16" return b:float() - v, b end, function(v) return v:double():bfloat16():double() end,
  }
  for i, f in ipairs(programs) do
    local want, got = { f(x) }, { tb.compile(f)(x) }
    for k in ipairs(want) do
      local far = (want[k]:double() - got[k]:double()):abs():amax():item()
      assert(far <= 1e-6 * want[k]:double():abs():amax():item(), ("program %d, result %d: %g"):format(i, k, far))
    end
  end
end

-- is_tensor and the default dtype are answered; tb.tensor of data makes a fresh tensor each call.
function parts.module_functions()
  local x = tb.ones(2, 2)
  plain.check_captured("is_tensor", function(C)
    local f = C(function(v) if tb.is_tensor(v) then return v + 1 end return "no" end)
    return function()
      local texts = {}
      for i, v in ipairs { x, 5, "a", {}, print, io.stdout, tb.ones(3) } do texts[i] = f(v) end
      return texts, tb.is_tensor(nil)
    end
  end)
  plain.check_captured("default dtype", function(C)
    local f = C(function() return tb.get_default_dtype(), tb.tensor(1.5), tb.tensor { 1.5, 2 }, tb.ones(1) end)
    return function()
      local a = { f() }
      tb.set_default_dtype("f64")
      local b = { f() }
      tb.set_default_dtype("f32")
      return a, b, { f() }
    end
  end)
  plain.check_captured("literals", function(C)
    local outside = { { 1, 2 }, { 3, 4 } }
    local f = C(function(v, k)
      return v * tb.tensor { { 1, 2 }, { 3, k } }, tb.tensor(2.5), tb.tensor(true), tb.tensor {}, tb.tensor({ 1, 2 }, { dtype = "bf16" }),
        tb.tensor({ 0.1 }, { dtype = "bf16", reference_dtype = "f64" }), tb.tensor(math.maxinteger), tb.tensor(outside), tb.tensor { { k } }
    end)
    return function()
      outside[2][1] = outside[2][1] + 1
      return { f(x, 4) }, { f(x, 0 / 0) }
    end
  end)
  local long = {}
  for i = 1, 5000 do long[i] = i end
  plain.check_captured("long literals", function(C)
    return C(function() return tb.tensor(long):sum(), tb.tensor { long, long }:size(2) end)
  end)
  local f = tb.compile(function() return tb.tensor { 1, 2 }, tb.tensor { 3 } end, { fullgraph = true })
  local a, b = f()
  a:fill_(7)
  b:fill_(7)
  assert(plain.describe_all(table.pack(f())) == "i64[2](1,2) | i64[1](3)", "a literal is not fresh")
  local many = tb.compile(function(n) for _ = 1, n do tb.tensor(1) end return tb.tensor(2) end, { fullgraph = true }) -- they count, as other operations do
  local good, why = pcall(many, 140000)
  assert(not good and tostring(why):find("131072 operations", 1, true), why)
  local cyclic = {}
  cyclic[1] = cyclic
  for _, bad in ipairs { { { 1, 2 }, 3 }, { { 1 }, { 1, 2 } }, { "a" }, { x }, "q", x, cyclic } do
    plain.check("bad literal", function(C) return C(function() return tb.tensor(bad) end) end)
  end
end

-- Compiled code that meets an index out of range: the error is the plain function's, with operation, range and line, and the
-- generator is where that left it.
function parts.index_errors()
  local function choose(x, i, j)
    local a = tb.rand(2)
    local b = x:index_select(1, i)
    local c = x:gather(1, j)
    return F.embedding(i, x:unsqueeze(2)):sum(), b, c, a, tb.rand(1)
  end
  local line = debug.getinfo(choose, "S").linedefined
  for _, backend in ipairs(plain.backends) do
    local f = tb.compile(choose, { backend = backend, fullgraph = true })
    local x, good, other = tb.tensor { 1.5, 2.5, 3.5 }, tb.tensor { 1, 3 }, tb.tensor { 2, 2 }
    f(x, other, good)
    for _, bad in ipairs { 0, -1, 4, math.maxinteger, math.mininteger } do
      local wrong = tb.tensor { 2, bad }
      plain.raises(function() f(x, wrong, good) end, ("compile.lua:%d: index_select: index %d is outside of 1 to 3"):format(line + 2, bad))
      plain.raises(function() f(x, good, wrong) end, ("compile.lua:%d: gather: index %d is outside of 1 to 3"):format(line + 3, bad))
    end
    plain.check("errors and generator", function(C)
      local g = C(choose)
      return function() return { pcall(g, x, tb.tensor { 1, 9 }, good) }, tb.rand(1), { g(x, good, good) }, tb.rand(1) end
    end, { backend })
    assert(tb.stats(f).entries == 1 and not tb.stats(f).eager, "an error made the object eager")
    assert(tb.stats(f).fallbacks[1]:find("index", 1, true))
  end
  -- nothing lies in an empty dimension
  plain.check("empty", function(C) return C(function(x, i) return x:gather(1, i) end), tb.ones(0, 3), tb.ones({ 1, 3 }, { dtype = "i64" }) end)
  plain.check("empty", function(C) return C(function(x, i) return F.embedding(i, x) end), tb.ones(0, 3), tb.ones({ 2 }, { dtype = "i64" }) end)
  -- dead code is dropped with its errors: only backend=eager runs it
  local function unused(x, i) local _ = x:gather(1, i) return x + 1 end
  local x, bad = tb.ones(3), tb.tensor { 9 }
  plain.raises(function() unused(x, bad) end, "gather: index 9")
  plain.raises(function() tb.compile(unused, { backend = "eager" })(x, bad) end, "gather: index 9")
  assert(tb.compile(unused)(x, bad):sum():item() == 6)
  -- a result too large for memory: the plain function's error too
  plain.check("no memory", function(C) return C(function(v) return v:expand(1 << 50) + 1 end), tb.ones(1) end)
end

-- What tb.compile takes.
function parts.arguments()
  local function f(x) return x end
  local what = "a function or a module (a value whose metatable has __call)"
  plain.raises(function() tb.compile() end, "compile.lua:", "compile: argument 1 must be " .. what .. ", got nil")
  plain.raises(function() tb.compile(5) end, what, "got number 5")
  plain.raises(function() tb.compile("x") end, what, "got string 'x'")
  plain.raises(function() tb.compile({}) end, what, "got table")
  plain.raises(function() tb.compile(tb.ones(1)) end, what, "got tensor")
  plain.raises(function() tb.compile(setmetatable({}, { __call = 5 })) end, "__call is no function", "table")
  plain.raises(function() tb.explain(nil) end, what)
  local options = "a table of options (backend, mode, fullgraph, dynamic, options)"
  plain.raises(function() tb.compile(f, 5) end, "argument 2 must be " .. options, "got number 5")
  plain.raises(function() tb.compile(f, "inductor") end, options, "got string 'inductor'")
  plain.raises(function() tb.compile(f, { fulgraph = true }) end, "there is no option 'fulgraph'", "backend, mode, fullgraph, dynamic, options")
  plain.raises(function() tb.compile(f, { "eager" }) end, "there is no option '1'")
  plain.raises(function() tb.compile(f, { backend = "inducter" }) end, "there is no backend 'inducter'", "eager, aot_eager, inductor")
  plain.raises(function() tb.compile(f, { backend = print }) end, "option backend must be the name of a backend, got function")
  plain.raises(function() tb.compile(f, { backend = "cudagraphs" }) end, "unsupported", "cudagraphs")
  plain.raises(function() tb.compile(f, { mode = "max-autotune", backend = "eager" }) end, "modes are those of backend=inductor", "backend=eager has none")
  tb.compile(f, { mode = "default", backend = "eager" })
  plain.raises(function() tb.compile(f, { mode = "fast" }) end, "there is no mode 'fast'", "default, reduce-overhead")
  plain.raises(function() tb.compile(f, { mode = 3 }) end, "option mode must be the name of a mode, got number 3")
  plain.raises(function() tb.compile(f, { fullgraph = "yes" }) end, "option fullgraph must be true or false, got string 'yes'")
  plain.raises(function() tb.compile(f, { dynamic = 1 }) end, "option dynamic must be true or false, got number 1")
  plain.raises(function() tb.compile(f, { options = 5 }) end, "option options must be a table of switches by name", "got number 5")
  plain.raises(function() tb.compile(f, { options = { fooze = 1 } }) end, "there is no switch 'fooze'")
  plain.raises(function() tb.compile(f, { options = { fuse = "x" } }) end, "fuse=x: use on or off")
  plain.raises(function() tb.compile(f, { options = { fuse = {} } }) end, "switch fuse must be a text, a number or a boolean, got table")
  plain.raises(function() tb.compile(f, { options = { [1] = "fuse" } }) end, "by name, not by number 1")
  for name, value in pairs { isa = "avx2", logs = "graph", cache_dir = "x", cache_mb = 1, ["opt.lazy_library"] = false } do
    plain.raises(function() tb.compile(f, { options = { [name] = value } }) end, "switch " .. name .. " is read when tbench opens")
  end
  local good = tb.compile(f, { backend = "inductor", mode = "default", fullgraph = true, dynamic = false, options = { fuse = false, fuse_max_ops = 12 } })
  assert(good(tb.ones(2)):size(1) == 2 and tb.stats(good).backend == "inductor")
end

-- Whatever can be called: Lua functions, tensor functions, other C functions (eagerly, counted), callable values, compiled ones.
function parts.callables()
  local x = tb.tensor { -1.0, 2.0 }
  assert(type(tb.compile(function() end)) == "function")
  plain.check_captured("tensor functions", function(C)
    local relu, sum = C(tb.relu), C(tb.sum)
    return function() return relu(x), sum(x, { dim = 1 }), sum(x) end
  end)
  plain.check("tensor functions, badly called", function(C) return C(tb.relu), 5 end)
  local upper, breaks = tb.compile(string.upper), tb.counters().graph_breaks
  local seek = tb.compile(io.stdout.seek)
  assert(upper("a") == "A" and seek(io.stdout) ~= 1)
  assert(tb.stats(seek).breaks[1].name == "C_FUNCTION" and tb.counters().graph_breaks == breaks + 1)
  plain.check_captured("callable table", function(C)
    local class = { __call = function(self, v) return v * self.k end }
    local object = setmetatable({ k = 3 }, class)
    local f = C(object)
    return function()
      local a = f(x)
      class.__call = function(self, v) return v + self.k end -- found by each call, as in plain Lua
      return a, f(x), f(x)
    end
  end)
  local twice = tb.compile(tb.compile(function(v) return v + 1 end), { backend = "eager" })
  assert(twice(x)[1]:item() == 0 and tb.stats(twice).backend == "eager" and tb.stats(twice).graphs == 1)
  plain.check("where Lua wants a function", function(C)
    return function()
      local list = { 3, 1, 2 }
      table.sort(list, C(function(a, b) return a > b end))
      local object = setmetatable({}, { __index = C(function(_, k) return k end) })
      return list, object.name, ("abc"):gsub(".", C(string.upper)), coroutine.wrap(C(function(a) return a end))(5), load(C(function() end)) ~= nil
    end
  end)
end

-- A table made by the traced code answers next and # as the plain one.
function parts.result_tables()
  plain.check_captured("order and length", function(C)
    local f = C(function()
      local shrunk = { a = 1, b = 2, c = 3, 4, 5, 6 }
      shrunk.b, shrunk[3] = nil, nil
      return { b = 1, a = 2, c = 3, [10] = 4, [1.5] = 5, 6, 7 }, { 1, nil, 3, nil }, { nil, nil, 3 }, { n = 1, nil }, shrunk
    end)
    return function()
      local texts = {}
      for i, t in ipairs { f() } do
        local text = "#" .. #t
        for k, v in pairs(t) do text = text .. " " .. tostring(k) .. "=" .. tostring(v) end
        texts[i] = text
      end
      return texts
    end
  end)
  plain.check_captured("random draws that nothing uses", function(C)
    return C(function() local _ = tb.rand(3) return tb.rand(2) end)
  end)
  plain.check_captured("the next draw", function(C)
    local f = C(function() local _ = tb.randn(3) return 1 end)
    return function() return f(), tb.rand(1) end
  end)
end

-- Whether a call would find what it needs: asked, nothing runs and nothing is compiled.
function parts.check_guards()
  local scale = { by = 2 }
  local plain_fn = function(x) return x * scale.by end
  local f = tb.compile(plain_fn, { dynamic = false })
  local x, longer = tb.ones(3), tb.ones(4)
  assert(tb.check_guards(f, x) == false)
  f(x)
  local compiles = tb.counters().compiles
  assert(tb.check_guards(f, x) == true and tb.check_guards(f, tb.ones(3)) == true)
  assert(tb.check_guards(f, longer) == false and tb.check_guards(f) == false and tb.check_guards(f, 3) == false)
  scale.by = 3
  assert(tb.check_guards(f, x) == false, "what the function read elsewhere has changed")
  scale.by = 2
  assert(tb.check_guards(f, x) and tb.counters().compiles == compiles)
  f(longer)
  assert(tb.check_guards(f, x) and tb.check_guards(f, longer), "among several entries")
  local module = tb.nn.Linear(3, 2)
  local compiled = tb.compile(module)
  compiled(x)
  assert(tb.check_guards(compiled, x) == true and tb.check_guards(compiled, longer) == false)
  plain.raises(function() tb.check_guards(plain_fn, x) end, "check_guards: argument 1 is not a compiled function")
end

-- Messages name an operation once.
function parts.messages()
  local f = tb.compile(function(x) return x + tb.ones(7) end)
  local message = plain.raises(function() f(tb.ones(3)) end, "compile.lua:", "add: [3] and [7]")
  assert(not message:find("add: add", 1, true))
  assert(tb.stats(f).breaks[1].detail:find("add: [3] and [7]", 1, true) == 1, tb.stats(f).breaks[1].detail)
  message = plain.raises(function() tb.compile(function(x) return x:sum(5) end, { fullgraph = true })(tb.ones(3)) end, "sum: dimension 5")
  assert(not message:find("sum: sum", 1, true))
  assert(getmetatable(tb.ones(1)) == "tensor", "what tensors do can be changed")
end

-- The error of a long sum grows with the root of its length: of equal values every addition rounds the same way, which is the worst
-- case. In `turns` additions one after the other the error would reach turns / 8 units in the last place; in blocks, twice the root of that.
function parts.long_sums()
  local eps = 2.0 ^ -23
  local function check(name, f, x, turns)
    local allowed = 8 + 2 * turns ^ 0.5 / 8
    local want = f(x:to("f64"))
    local size = want:abs()
    local function error_of(got) return ((got:to("f64") - want):abs() / size):max():item() / eps end
    local plain_error = error_of(f(x))
    for _, dynamic in ipairs { false, true } do
      local got = error_of(tb.compile(f, { dynamic = dynamic, fullgraph = true })(x))
      assert(got <= allowed + 3 * plain_error, ("%s %s, dynamic=%s: %.3g units in the last place, plain %.3g"):format(name, x, dynamic, got, plain_error))
    end
  end
  for _, n in ipairs { 63, 2048, 4096, 5000, 65536, 100003, 131072 } do
    for _, value in ipairs { 0.17, 1.1, 1.9999 } do
      local x, rows, columns = tb.full({ n }, value), tb.full({ 3, n }, value), tb.full({ n, 20 }, value)
      check("sum", function(v) return (v * 2):sum() end, x, n / 32)
      check("mean", function(v) return (v + v):mean(2) end, rows, n / 32)
      check("squares", function(v) return (v * v):sum(2) end, rows, n / 32)
      check("heavy", function(v) return ((v * 2):exp():sin():abs() + v:tanh():exp():log()):sum(2) end, rows, n / 8)
      check("columns", function(v) return (v * 2):sum(1) end, columns, n)
    end
  end
end

-- The same compile gives the same artifact, wherever in memory the compiler's own values lie.
function parts.same_artifact()
  local function f(x, y) -- one kernel with many addresses
    local rows, parts = x:size(1), {}
    for i = 1, 6 do parts[i] = (x:narrow(1, i, rows - 6):transpose(1, 2) * y:narrow(2, i, rows - 6):narrow(1, 1, 16)):flip(1) end
    local sum = parts[1]
    for i = 2, 6 do sum = sum + parts[i] * i end
    return tb.cat({ sum, sum:flip(2), sum * 2 }, 1):view(-1, 4):softmax(-1)
  end
  local first
  for i = 1, 40 do
    local filling = {}
    for k = 1, i do filling[k] = string.rep("x", k * 100) end
    tb.clear_memory_cache()
    local compiled = tb.compile(f, { dynamic = true, options = { cache = false } })
    compiled(tb.randn(30, 16), tb.randn(16, 40))
    local artifact = tb.stats(compiled).artifact
    first = first or artifact
    assert(artifact == first, "compile " .. i .. " made another artifact")
  end
end

assert(parts[part], "no such part")()
