-- Matrix products by own kernels, the search for the fastest way, and recorded runs. Run by test_lua_products.c with the name of a part.
local part, tests = ...
local tb = require "tbench"
local parts = {}

local ways = { "library", "tile_8x1", "tile_4x2", "tile_8x2" }
local eps = { f32 = 2.0 ^ -23, f64 = 2.0 ^ -52, bf16 = 2.0 ^ -8 }

-- Of a sum of `terms` products in the dtype, which is rounded to it at the end.
local function check(what, got, want, dtype, terms, size)
  assert(table.concat(got.shape, ",") == table.concat(want.shape, ","), what .. ": another shape")
  if want:numel() == 0 then return end
  local accumulated = dtype == "bf16" and eps.f32 or eps[dtype]
  local allowed = size:to("f64") * (accumulated * (terms + 8)) + want:abs() * (eps[dtype] * 2)
  local over = ((got:to("f64") - want):abs() - allowed):max():item()
  assert(over <= 0, ("%s, %s: beyond the bound by %g"):format(what, dtype, over)) -- a NaN fails
end

local function compare(what, f, dtype, terms, ...)
  local exact, sizes = {}, {}
  for i, x in ipairs { ... } do exact[i], sizes[i] = x:to("f64"), x:to("f64"):abs() end
  local want, size = f(table.unpack(exact)), f(table.unpack(sizes)):abs()
  for _, way in ipairs(ways) do
    for _, dynamic in ipairs { false, true } do
      local compiled = tb.compile(f, { fullgraph = true, dynamic = dynamic, options = { matmul = way } })
      check(("%s, matmul=%s, dynamic=%s"):format(what, way, dynamic), compiled(...), want, dtype, terms, size)
    end
  end
end

-- Shapes that fill tiles and vectors, and that do not; operands as they lie, and transposed.
function parts.ways()
  tb.manual_seed(11)
  local shapes = { { 1, 1, 1 }, { 10, 10, 10 }, { 8, 64, 32 }, { 9, 33, 17 }, { 1, 100, 40 }, { 100, 1, 40 }, { 3, 5, 1 }, { 4, 7, 0 }, { 0, 6, 5 }, { 5, 0, 4 }, { 0, 0, 3 },
    { 31, 48, 300 }, { 2, 2, 5000 }, { 65, 130, 20 } }
  for number, shape in ipairs(shapes) do
    local m, n, k = table.unpack(shape)
    for _, dtype in ipairs(number % 3 == 2 and { "f32", "f64", "bf16" } or { "f32" }) do
      local a, b = tb.randn({ m, k }, { dtype = dtype }), tb.randn({ k, n }, { dtype = dtype })
      local a_turned, b_turned = tb.randn({ k, m }, { dtype = dtype }), tb.randn({ n, k }, { dtype = dtype })
      local what = ("%d x %d x %d"):format(m, n, k)
      compare(what, function(x, y) return x:matmul(y) end, dtype, k, a, b)
      compare(what .. ", A turned", function(x, y) return x:transpose(1, 2):matmul(y) end, dtype, k, a_turned, b)
      compare(what .. ", B turned", function(x, y) return x:matmul(y:transpose(1, 2)) end, dtype, k, a, b_turned)
    end
  end
end

local function chain(a, b)
  for _ = 1, 5 do a = a:matmul(b) end
  return a
end

-- Batches, and what is fused in front of, behind, and beside a product.
function parts.fused()
  tb.manual_seed(12)
  local a, b, wide = tb.randn(3, 10, 12), tb.randn(12, 20), tb.randn(2, 1, 12, 20)
  compare("a batch", function(x, y) return x:matmul(y) end, "f32", 12, a, b)
  compare("two batches", function(x, y) return x:matmul(y) end, "f32", 12, a, wide)
  compare("an empty batch", function(x, y) return x:matmul(y) end, "f32", 12, tb.randn(0, 10, 12), b)
  compare("a bias behind", function(x, y, z) return x:matmul(y) + z end, "f32", 14, a, b, tb.randn(20))
  compare("a relu in front", function(x, y) return x:relu():matmul(y) end, "f32", 12, a, b)
  compare("a sum behind", function(x, y) return x:matmul(y):sum(-1) end, "f32", 12 + 20, a, b)
  compare("a product behind", function(x, y, z) return x:matmul(y):matmul(z) end, "f32", 12 + 20 + 12, a, b, tb.randn(20, 9))
  compare("two beside", function(x, y, z) return x:matmul(y) + x:matmul(z) end, "f32", 26, a, b, tb.randn(12, 20))
  compare("with itself", function(x) return x:matmul(x) end, "f32", 10, tb.randn(10, 10))
  compare("rows of an embedding", function(x, y) return x:index_select(1, tb.tensor({ 3, 1, 3 }, { dtype = "i64" })):matmul(y) end, "f32", 6,
    tb.randn(4, 6), tb.randn(6, 5))
end

-- A search tries each product once: what it chose holds for other graphs, in this process and by the disk.
function parts.search()
  local function searched(f, ...)
    local before = tb.counters().searches
    local y = f(...)
    return tb.counters().searches - before, y
  end
  local a, b = tb.ones(10, 10), tb.full({ 10, 10 }, 0.1)
  local fresh = { cache = false }
  for _, mode in ipairs { "max-autotune", "max-autotune-no-cudagraphs" } do
    for _, dynamic in ipairs { false, true } do
      tb.clear_memory_cache()
      local f = tb.compile(chain, { mode = mode, dynamic = dynamic, options = fresh })
      local n, y = searched(f, a, b)
      assert(n == 1, ("%s, dynamic=%s: %d searches"):format(mode, dynamic, n))
      assert((y - 1):abs():max():item() < 1e-5)
      n = searched(tb.compile(function(x, z) return chain(x, z) * 2 end, { mode = mode, dynamic = dynamic, options = fresh }), a, b)
      assert(n == 0, "known in this process")
    end
  end
  tb.clear_memory_cache()
  local kept, tries, count = { mode = "max-autotune", options = { cache = true } }, 0, nil
  repeat -- on a disturbed machine a search may not believe its times, and then keeps nothing on disk
    tb.clear_memory_cache()
    local add = tries
    count = searched(tb.compile(function(x, z) return chain(x, z) + add end, kept), a, b)
    tries = tries + 1
  until count == 0 or tries == 50
  assert(count == 0 and tries > 1, "known by the disk")
  -- what is forgotten and may not be measured is guessed; what is too large to try is the library's
  tb.clear_memory_cache()
  assert(searched(tb.compile(chain, { mode = "max-autotune", options = { frozen = true, cache = false } }), a, b) == 0)
  local large = tb.compile(function(x) return x:matmul(x) end, { mode = "max-autotune", options = fresh })
  assert(searched(large, tb.ones(400, 400)) == 0)
  assert(tb.explain(function(x) return x:matmul(x) end, { mode = "max-autotune", options = fresh })(tb.ones(400, 400)).library_calls == 1)
  -- where there is more than products, the whole is tried, with indices and draws as they may be
  local x, w, table_ = tb.randn(12, 16), tb.randn(16, 16), tb.randn(30, 12)
  local index = tb.tensor({ 29, 1, 7 }, { dtype = "i64" })
  for name, f in pairs {
    heads = function(v) return v:matmul(w):reshape(12, 4, 4):transpose(1, 2):contiguous() end,
    rows = function(v) return table_:index_select(1, index):matmul(v), v:sum() end,
    dropped = function(v) return v:matmul(w) + tb.rand(12, 16) * 0, v end,
    twice = function(v) local y = (v:exp():sqrt():matmul(w) + 1):relu() return y, y:sum(1), y end,
  } do
    for _, dynamic in ipairs { false, true } do
      local compiled = tb.compile(f, { mode = "max-autotune", dynamic = dynamic, fullgraph = true, options = { cache = false } })
      for _ = 1, 2 do
        local got, want = table.pack(compiled(x)), table.pack(f(x))
        for i = 1, want.n do assert((got[i] - want[i]):abs():max():item() < 1e-4, name) end
      end
    end
  end
  -- a switch that is given wins
  local own = tb.explain(chain, { mode = "max-autotune", options = { matmul = "tile_8x1", cache = false } })(a, b)
  assert(own.library_calls == 0 and own.kernels == 5, "kernels of its own")
  assert(tb.explain(chain, { options = { cache = false } })(a, b).library_calls == 5, "mode default takes the library")
end

-- Sizes that become empty, and that are no multiple of what the first call had.
function parts.changing()
  tb.manual_seed(14)
  for _, way in ipairs(ways) do
    local f = tb.compile(function(x, y) return x:matmul(y) + 1 end, { dynamic = true, fullgraph = true, options = { matmul = way } })
    for _, m in ipairs { 9, 3, 17, 8, 64, 0, 1, 5 } do
      local x, y = tb.randn(m, 11), tb.randn(11, m + 3)
      check(way .. ", changing sizes", f(x, y), x:to("f64"):matmul(y:to("f64")) + 1, "f32", 12, x:abs():to("f64"):matmul(y:abs():to("f64")) + 1)
    end
  end
end

-- A switch that is set wins over the mode, whatever it is set to.
function parts.switches()
  local a, b = tb.ones(10, 10), tb.full({ 10, 10 }, 0.1)
  local function calls(options)
    options.options = options.options or {}
    options.options.cache = false
    return tb.explain(chain, options)(a, b).library_calls
  end
  assert(calls { mode = "max-autotune", options = { matmul = "library" } } == 5)
  assert(calls { mode = "default", options = { matmul = "tile_4x2" } } == 0)
  assert(calls { mode = "reduce-overhead", options = { matmul = "tile_4x2" } } == 0)
  assert(calls { options = { matmul = "auto" } } == 5 and calls {} == 5)
  local told = tostring(tb.explain(function(x, y) return x:matmul(y):relu() end, { options = { matmul = "tile_8x1", cache = false } })(a, b))
  assert(told:find("fused_matmul_relu", 1, true), told)
end

-- Modes whose runs alone differ share an artifact: the first is compiled, each other one finds it on disk, and runs it in its own way.
function parts.shared()
  local x = tb.ones(30, 20)
  local function moved(options)
    tb.clear_memory_cache() -- of the modes before; what was not yet on disk is written with the first call
    options.options.cache = true
    local before = tb.counters()
    local y = tb.compile(function(v) return (v * 7 + 2):sum() end, options)(x)
    local after = tb.counters()
    assert(y:item() == 5400)
    return ("%d %d"):format(after.cache_misses - before.cache_misses, after.disk_hits - before.disk_hits)
  end
  for i, options in ipairs { { options = {} }, { mode = "reduce-overhead", options = {} }, { options = { record = true } }, { options = { spin_ns = 5 } },
    { mode = "reduce-overhead", options = { record = false } } } do
    local n = moved(options)
    assert(n == (i == 1 and "1 0" or "0 1"), ("compile %d: %s misses and hits on disk"):format(i, n))
  end
end

-- Recorded runs: what is held is never written, wherever operands lie, whatever sizes are.
function parts.recorded()
  tb.manual_seed(13)
  local function f(x, y) return (x + 1):matmul(y):relu(), x * 2, tb.rand(3), x end
  for _, dynamic in ipairs { false, true } do
    local compiled = tb.compile(f, { mode = "reduce-overhead", dynamic = dynamic, fullgraph = true })
    local held = {}
    for call = 1, 12 do
      local rows = dynamic and 2 + call % 3 or 4
      local x, y = tb.randn(rows, 5), tb.randn(5, 6)
      local got = table.pack(compiled(x, y))
      assert(#got == 4 and (got[4] - x):abs():sum():item() == 0)
      held[call] = { got = got, want = table.pack(f(x, y)) }
      if call % 3 == 0 then held[call - 1] = nil collectgarbage() end
      for _, h in pairs(held) do
        for _, i in ipairs { 1, 2, 4 } do assert((h.got[i] - h.want[i]):abs():max():item() < 1e-5, "a result that was held has changed") end
      end
    end
    for i, h in pairs(held) do
      for k, other in pairs(held) do
        if i ~= k then assert((h.got[3] - other.got[3]):abs():sum():item() > 0, "a random result that repeats") end
      end
    end
  end
  -- memory of large results is not kept for small ones, nor for nobody
  local sized = tb.compile(function(v) return v * 2 end, { mode = "reduce-overhead", dynamic = true })
  sized(tb.ones(1 << 20))
  local small = sized(tb.ones(16))
  collectgarbage()
  assert(small:sum():item() == 32)
  -- a result that goes back in as an operand, and an operand that changes in place
  local step = tb.compile(function(x) return x * 0.5 + 1 end, { mode = "reduce-overhead" })
  local x, plain = tb.full({ 100 }, 8.0), 8.0
  for _ = 1, 20 do x, plain = step(x), plain * 0.5 + 1 end
  assert((x - plain):abs():max():item() < 1e-6)
  local y = tb.ones(7)
  for i = 1, 4 do
    y:fill_(i)
    assert(step(y):sum():item() == 7 * (i * 0.5 + 1))
  end
  -- products of the library, attention in tiles, and sums with scratch rows
  local q = tb.randn(2, 4, 64, 16)
  local g = tb.compile(function(v) return tb.nn.functional.scaled_dot_product_attention(v, v, v) end, { mode = "reduce-overhead" })
  local soft = tb.compile(function(v) return (v:exp():sin() * 2):softmax(-1) end, { mode = "reduce-overhead" })
  for _ = 1, 4 do
    assert((g(q) - tb.nn.functional.scaled_dot_product_attention(q, q, q)):abs():max():item() < 1e-4)
    assert((soft(q) - (q:exp():sin() * 2):softmax(-1)):abs():max():item() < 1e-5)
    q = q + 1
  end
end

parts[part]()
