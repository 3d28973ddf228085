-- Tensor functions at their limits: integers of all 64 bits, lists of thousands of tensors, reshapes that merge several
-- dimensions. Plain against compiled, and against values worked out here. Run by test_extremes.c with the name of a part.
local part, tests = ...
local tb = require "tbench"
local plain = dofile(tests .. "/lua/plain.lua")
local max, min = math.maxinteger, math.mininteger
local parts = {}

local function list(t) return t:reshape(-1):tolist() end

local function equal(got, want, what)
  assert(#got == #want, what)
  for i = 1, #want do if got[i] ~= want[i] then error(("%s: element %d is %s, not %s"):format(what, i, got[i], want[i]), 2) end end
end

-- Each function of `x` gives tensors whose elements are those of the function of numbers behind it.
function parts.integers()
  local values = { 0, 1, -1, 7, max, min, max - 1, min + 1, 1 << 61, -(1 << 61), (1 << 61) - 1, 1 << 53 }
  local x = tb.tensor(values)
  for _, k in ipairs { max, min, max - 1, min + 1, 1 << 61, (1 << 61) - 1, -(1 << 61), -(1 << 61) - 1, 1 << 62 } do
    local rows = {
      { function(v) return v + k end, function(n) return n + k end },
      { function(v) return k - v end, function(n) return k - n end },
      { function(v) return v * k end, function(n) return n * k end },
      { function(v) return v // k end, function(n) return n // k end },
      { function(v) return v % k end, function(n) return n % k end },
      { function(v) return v:add(1, k) end, function(n) return n + k end },
      { function(v) return v:lt(k) end, function(n) return n < k end },
      { function(v) return v:ge(k) end, function(n) return n >= k end },
      { function(v) return v:eq(k) end, function(n) return n == k end },
      { function(v) return v:clamp(k) end, function(n) return math.max(n, k) end },
      { function(v) return v:clamp { max = k } end, function(n) return math.min(n, k) end },
      { function(v) return v:masked_fill(v:gt(0), k) end, function(n) return n > 0 and k or n end },
      { function(v) return tb.where(v:gt(0), k, v) end, function(n) return n > 0 and k or n end },
      { function(v) return tb.full({ #v }, k) end, function() return k end },
      { function(v) return tb.full_like(v, k) end, function() return k end },
      { function(v) return v * 0 + tb.tensor(k) end, function() return k end },
    }
    for i, row in ipairs(rows) do
      local want = {}
      for j, n in ipairs(values) do want[j] = row[2](n) end
      equal(list(row[1](x)), want, ("row %d, %d, plain"):format(i, k))
      for _, backend in ipairs(plain.backends) do
        local f = tb.compile(row[1], { backend = backend, fullgraph = true })
        equal(list(f(x)), want, ("row %d, %d, %s"):format(i, k, backend))
      end
    end
    equal(list(x:clone():fill_(k)), list(tb.full({ #x }, k)), "fill_")
  end
  plain.check_captured("floats and bools", function(C)
    return C(function(v) return v:float() + max, v:double() * min, v:double():lt(max), v:bool():add(max), tb.full({ 2 }, max, { dtype = "bool" }), v:float() ^ max end), x
  end)
  for _, number in ipairs { 2 ^ 63, 1e30, 0 / 0, -1e19 } do
    plain.raises(function() tb.full({ 1 }, number, { dtype = "i64" }) end, "does not fit an integer of 64 bits")
  end
  assert(tb.full({ 1 }, -2 ^ 63, { dtype = "i64" })[1]:item() == min)
end

-- Sizes and dimensions of any number are refused alike; bounds of slices are cut, as string.sub cuts them.
function parts.bounds()
  local x = tb.arange(10)
  equal(list(x:slice(1, 3, max)), { 2, 3, 4, 5, 6, 7, 8, 9 }, "slice")
  equal(list(x:slice(1, min, 2)), { 0, 1 }, "slice")
  equal(list(x:slice(1, 1, -1, max)), { 0 }, "slice")
  assert(#x:split(max) == 1 and #x:chunk(max) == 10)
  for i, f in ipairs {
    function() return tb.zeros(max) end, function() return tb.zeros(1 << 60) end, function() return tb.zeros(min) end, function() return x[max] end,
    function() return x:narrow(1, max, 1) end, function() return x:narrow(1, (1 << 61) - 1, (1 << 61) - 1) end, function() return x:view(max) end,
    function() return x:expand(max, 10) end, function() return x:sum(max) end, function() return tb.nn.functional.pad(x, { (1 << 61) - 1, 1 }) end,
    function() return x:unsqueeze(1):tril(max), x:unsqueeze(1):triu(min) end, function() return x:slice(1, min, max) end, function() return x:split(max) end,
  } do
    plain.check("bounds " .. i, function(C) return C(f) end)
  end
end

function parts.ranges()
  for _, r in ipairs { { 0, 5, 1 }, { 5, 0, -2 }, { max - 2, max, 1 }, { min, min + 3, 2 }, { min, max, 1 << 62 }, { (1 << 60) + 1, (1 << 60) + 4, 1 }, { max, min, -(1 << 62) },
    { 0, max, 1 << 61 }, { 3, 3, 1 }, { 3, 4, max } } do
    local want, n = {}, r[1]
    repeat -- Lua's own loop does not wrap either
      if r[3] > 0 and n >= r[2] or r[3] < 0 and n <= r[2] then break end
      want[#want + 1] = n
      local before = n
      n = n + r[3]
    until r[3] > 0 and n < before or r[3] < 0 and n > before
    local f = function() return tb.arange(r[1], r[2], r[3]) end
    equal(list(f()), want, "arange")
    assert(f().dtype == "i64")
    plain.check_captured("arange", function(C) return C(f) end)
  end
  plain.raises(function() tb.arange(max) end, "the range is too long")
  plain.raises(function() tb.arange(max, min) end, "wrong side")
end

-- More operands than one operation takes are joined as a tree.
function parts.long_lists()
  for _, n in ipairs { 63, 64, 65, 128, 129, 1000, 4096, 4097 } do
    local items, want = {}, {}
    for i = 1, n do
      items[i] = tb.full({ 1, 2 }, i)
      want[2 * i - 1], want[2 * i] = i, i
    end
    equal(list(tb.cat(items)), want, "cat")
    equal(list(tb.cat(items, 2)), want, "cat")
    equal(list(tb.stack(items, 1)), want, "stack")
    equal(list(tb.stack(items, -1):permute(3, 1, 2)), want, "stack")
    local f = tb.compile(function(l) return tb.cat(l), tb.stack(l) end, { backend = "eager", fullgraph = true })
    local cat, stack = f(items)
    equal(list(cat), want, "captured cat")
    equal(list(stack), want, "captured stack")
    if n <= 129 then equal(list(tb.compile(function(l) return tb.cat(l) end, { fullgraph = true })(items)), want, "compiled cat") end
  end
  local rows = tb.arange(300):view(300, 1)
  plain.check_captured("rows of one tensor", function(C)
    return C(function(v)
      local l = {}
      for i = 1, 300 do l[i] = v[301 - i] end
      return tb.stack(l):view(-1)
    end), rows
  end)
  plain.check_captured("dtypes and empty items", function(C)
    local l = {}
    for i = 1, 200 do l[i] = i % 3 == 0 and tb.zeros(0) or i % 2 == 0 and tb.full({ 2 }, i) or tb.full({ 1 }, i * 0.5, { dtype = "f64" }) end
    local empty = {}
    for i = 1, 100 do empty[i] = tb.zeros(0) end
    return C(function() local all = tb.cat(l) return all:sum(), all:size(1), tb.cat(empty):size(1) end)
  end)
  local items = {}
  for i = 1, 200 do items[i] = tb.ones(2, 3) end
  items[150] = tb.ones(2, 4)
  plain.raises(function() tb.cat(items) end, "cat: item 150 of the list is [2, 4] f32, which does not fit the first, [2, 3] f32")
  plain.raises(function() tb.stack(items) end, "stack: item 150 of the list is [2, 4] f32")
  items[150] = 5
  plain.raises(function() tb.cat(items) end, "item 150 of the list must be a tensor, got an integer")
  local endless = {}
  for i = 1, 70000 do endless[i] = 1 end
  plain.raises(function() tb.cat(endless) end, "a list of 70000 items; at most 65536")
  plain.check("too long a list", function(C) return C(function() return tb.cat(endless) end) end, { "eager" })
end

-- A reshape that merges dimensions shares memory, compiled as in plain Lua.
function parts.merged_dimensions()
  for _, shape in ipairs { { { 2, 3, 4 }, { 24 } }, { { 2, 3, 4, 5 }, { 120 } }, { { 2, 3, 4, 5 }, { 6, 20 } }, { { 2, 3, 4 }, { 2, 12 } }, { { 24 }, { 2, 3, 4 } } } do
    local x = tb.zeros(shape[1])
    local y = tb.compile(function(v) return v:reshape(shape[2]) end, { fullgraph = true })(x)
    y:fill_(1)
    assert(x:sum():item() == x:numel(), "a reshape of " .. table.concat(shape[1], ", ") .. " is a copy")
  end
end

assert(parts[part], "no such part")()
