-- Values of operations, plain and compiled by each backend, against float64 worked out here: quotients, angles of any size, variances
-- around a large mean, attention that sees nothing; and integers divided by zero. Run by test_extremes.c with the name of a part.
local part, tests = ...
local tb = require "tbench"
local F = tb.nn.functional
local plain = dofile(tests .. "/lua/plain.lua")
local inf, nan = math.huge, 0 / 0
local parts = {}

local function numbers(t) return t:double():reshape(-1):tolist() end

-- fn plain and compiled; each result's numbers go to check(where, numbers).
local function each_way(fn, args, check)
  check("plain", numbers(fn(table.unpack(args))))
  for _, backend in ipairs(plain.backends) do
    local f = tb.compile(fn, { backend = backend, fullgraph = true })
    check(backend, numbers(f(table.unpack(args))))
    assert(#tb.stats(f).fallbacks == 0)
  end
end

local function same(a, b) return (a ~= a and b ~= b) or (a == b and (a ~= 0 or 1 / a == 1 / b)) end

-- PyTorch's remainder and floor_divide. math.fmod is C's, exact.
local function remainder(a, b)
  local r = math.fmod(a, b)
  return r ~= 0 and (r < 0) ~= (b < 0) and r + b or r
end
local function floor_divide(a, b)
  if b == 0 then return a / b end
  local r = math.fmod(a, b)
  local q = (a - r) / b
  if r ~= 0 and (r < 0) ~= (b < 0) then q = q - 1 end
  if q ~= q or q == inf or q == -inf then return q end
  if q == 0 then return 1 / (a / b) < 0 and -0.0 or 0.0 end
  local below = q // 1
  return q - below > 0.5 and below + 1 or below
end

function parts.quotients()
  local some = { 0.0, -0.0, 1, -1, 3, -3, 0.1, -0.1, 7, -4, 2, inf, -inf, nan, 1e30, -1e30, 1e-30, 1e300, -1e-300, 5e-324, 1e308, 2 ^ 53 + 1 }
  local left, right = {}, {}
  for i, v in ipairs(some) do some[i] = v + 0.0 end
  for _, a in ipairs(some) do
    for _, b in ipairs(some) do left[#left + 1], right[#right + 1] = a, b end
  end
  local x, y = tb.tensor(left, { dtype = "f64" }), tb.tensor(right, { dtype = "f64" })
  for name, row in pairs { floor_divide = { function(a, b) return a // b end, floor_divide }, remainder = { function(a, b) return a % b end, remainder } } do
    each_way(row[1], { x, y }, function(where, got)
      for i = 1, #got do
        local want = row[2](left[i], right[i])
        if not same(got[i], want) then error(("%s, %s of %g and %g: %g, not %g"):format(name, where, left[i], right[i], got[i], want)) end
      end
    end)
  end
  -- f32: the remainder is exact, so that of the numbers as f32 holds them, in f64, is the same but for one rounding.
  local a, b = (tb.randn(2000) * 1e4), (tb.randn(2000) * 0.37)
  local wide_a, wide_b = numbers(a), numbers(b)
  each_way(function(v, w) return v % w end, { a, b }, function(where, got)
    for i = 1, #got do
      local want = string.unpack("f", string.pack("f", remainder(wide_a[i], wide_b[i])))
      if got[i] ~= want then error(("%s: %.9g %% %.9g is %.9g, not %.9g"):format(where, wide_a[i], wide_b[i], got[i], want)) end
    end
  end)
end

function parts.division_by_zero()
  local x = tb.arange(100)
  for _, zero_at in ipairs { 1, 50, 100 } do
    local y = tb.ones({ 100 }, { dtype = "i64" })
    y:narrow(1, zero_at, 1):fill_(0)
    for name, f in pairs { floor_divide = function(a, b) return a // b end, remainder = function(a, b) return a % b end } do
      local function says(g) plain.raises(function() g(x, y) end, name .. ": an integer is divided by zero") end
      says(tb[name])
      says(function(a, b) return f(a, b) + 1 end)
      for _, backend in ipairs(plain.backends) do
        local g = tb.compile(function(a, b) return f(a, b) + 1 end, { backend = backend, fullgraph = true })
        for _ = 1, 2 do
          says(g)
          assert(g(x, y + 1):sum():item() == f(x, y + 1):sum():item() + 100) -- the next call is not told of the last one's zero
        end
      end
    end
  end
  local one = tb.zeros({}, { dtype = "i64" })
  plain.raises(function() return tb.compile(function(a, b) return (a // b):sum() end, { fullgraph = true })(x, one) end, "an integer is divided by zero")
  -- A quotient that is not needed everywhere is not asked for where it is not: none of these divides by zero.
  local halves = tb.arange(6) + 1
  plain.check_captured("padded quotient", function(C)
    return C(function(a, b) return F.pad(a // b, { 3, 4 }), tb.cat({ a // b, a % b, b }) end), halves * 7, halves
  end)
  -- The smallest integer by -1 wraps, and does not trap.
  each_way(function(a) return (a // -1):eq(a), (a % -1):eq(0) end, { tb.full({ 40 }, math.mininteger) }, function(where, got)
    for i = 1, #got do assert(got[i] == 1, where) end
  end)
end

-- Beyond what a plain reduction can do; f32 and f64, against C's functions of the number that the tensor holds.
function parts.angles()
  local values = {}
  for e = -4, 37 do
    values[#values + 1] = (1 + #values * 0.0137) * 10.0 ^ e
    values[#values + 1] = -(1 + #values * 0.0071) * 10.0 ^ e
  end
  for _, dtype in ipairs { "f32", "f64" } do
    local x = tb.tensor(values, { dtype = dtype })
    local held, eps = numbers(x), dtype == "f32" and 2 ^ -23 or 2 ^ -52
    for name, row in pairs { sin = math.sin, cos = math.cos, tan = math.tan } do
      each_way(function(v) return v[name](v) end, { x }, function(where, got)
        for i = 1, #got do
          local want = row(held[i])
          if math.abs(got[i] - want) > 5 * eps * math.abs(want) then error(("%s of %.17g, %s, %s: %.17g, not %.17g"):format(name, held[i], dtype, where, got[i], want)) end
        end
      end)
      for _, odd in ipairs { inf, -inf, nan } do
        each_way(function(v) return v[name](v) end, { tb.full({ 3 }, odd, { dtype = dtype }) }, function(where, got) assert(got[1] ~= got[1], where) end)
      end
    end
  end
end

-- Numbers around a mean that is large against them: as good as the numbers themselves allow.
function parts.moments()
  for _, mean in ipairs { 0, 1e3, 1e5, -3e5 } do
    for _, n in ipairs { 7, 64, 1000, 40000 } do
      local x = tb.randn(3, n) + mean
      local wide = x:double()
      local want, normed = numbers(wide:var(-1)), numbers(F.layer_norm(wide, { n }))
      local bound = 2e-6
      each_way(function(v) return v:var(-1) end, { x }, function(where, got)
        for i = 1, #got do
          if math.abs(got[i] / want[i] - 1) > bound then error(("var of %d around %g, %s: %.9g, not %.9g"):format(n, mean, where, got[i], want[i])) end
        end
      end)
      each_way(function(v) return v:var({ 1, 2 }, true) end, { x }, function(where, got)
        -- Generated code sums in f32, by lanes; numbers that all end in the same few bits are then rounded one way in long sums.
        local all = wide:var():item()
        if math.abs(got[1] / all - 1) > bound + 3 * n * 2 ^ -32 then error(("var of all around %g, %s: %.9g, not %.9g"):format(mean, where, got[1], all)) end
      end)
      -- The mean itself is rounded to f32.
      local slack = 8e-6 + math.abs(mean) * 2 ^ -23
      each_way(function(v) return F.layer_norm(v, { n }) end, { x }, function(where, got)
        for i = 1, #got do
          if math.abs(got[i] - normed[i]) > slack then error(("layer_norm of %d around %g, %s: %.9g, not %.9g"):format(n, mean, where, got[i], normed[i])) end
        end
      end)
    end
  end
  local odd = tb.tensor { { 1e30, -1e30, 1e30 }, { inf, 1, 2 }, { nan, 1, 2 }, { 5, 5, 5 }, { 1e5, 1e5, 1e5 } }
  each_way(function(v) return v:var(-1) end, { odd }, function(where, got)
    assert(got[1] == inf and got[2] ~= got[2] and got[3] ~= got[3] and got[4] == 0 and got[5] == 0, where .. ": " .. table.concat(got, " "))
  end)
end

function parts.blind_queries()
  local q, k, v = tb.randn(2, 3, 5, 8), tb.randn(2, 3, 7, 8), tb.randn(2, 3, 7, 4)
  local seen = tb.ones({ 5, 7 }, { dtype = "bool" })
  seen:narrow(1, 2, 1):fill_(false)
  local added = tb.where(seen, 0.0, -inf)
  for _, dtype in ipairs { "f32", "f64", "bf16" } do
    local args = { q:to(dtype), k:to(dtype), v:to(dtype) }
    for _, mask in ipairs { seen, added:to(dtype) } do
      args[4] = mask
      each_way(function(a, b, c, m) return F.scaled_dot_product_attention(a, b, c, m) end, args, function(where, got)
        for i = 1, #got do
          local blind = (i - 1) // 4 % 5 == 1
          assert(got[i] == got[i] and blind == (got[i] == 0), where .. " " .. dtype)
        end
      end)
    end
    -- A NaN is passed on by a scale of 0, and by a query that sees it.
    local bad = k:clone()
    bad:narrow(3, 1, 1):fill_(nan)
    each_way(function(a, b, c) return F.scaled_dot_product_attention(a, b, c, { scale = 0 }) end, { q:to(dtype), bad:to(dtype), v:to(dtype) }, function(where, got)
      for i = 1, #got do assert(got[i] ~= got[i], where .. " " .. dtype .. ": a scale of 0 hides NaN") end
    end)
    local mean = numbers(v:to(dtype):double():mean(3, true):expand(2, 3, 5, 4))
    each_way(function(a, b, c) return F.scaled_dot_product_attention(a, b, c, { scale = 0 }) end, { q:to(dtype), k:to(dtype), v:to(dtype) }, function(where, got)
      for i = 1, #got do assert(math.abs(got[i] - mean[i]) <= 0.02, where) end
    end)
  end
end

assert(parts[part], "no such part")()
