-- PyTorch's compile-time instruction benchmarks (benchmarks/dynamo/pr_time_benchmarks, and cache_hit and nested_graph_breaks of
-- benchmarks/dynamo/microbenchmarks), built anew from their published descriptions: what a compile costs, in instructions.
-- tbench report FILE format=peers_counts puts the counts that PyTorch expects of itself beside, and says what is counted on each side.
-- What this library cannot express is listed as unsupported, with the reason.
--
-- `form`: static sizes, or dynamic ones (dynamic = true). Two things differ from the originals: sizes that those read from a tensor inside
-- of what they compile are here numbers of a list, an argument; and where a program takes a module's forward, ours is a function or a nn.class.
local tb = require "tbench"
local nn = tb.nn
local F = nn.functional

local ADDS, MATMULS, SIZES, CALLS, SINES, NEST = 1000, 200, 200, 1000, 10000, 100

local function options(case) return { dynamic = case.form == "dynamic" } end
local function one(case, fn, ...) return { fn = fn, args = { ... }, options = options(case) } end
local function unsupported(why) return function() return { unsupported = why } end end
local needs_gradients = unsupported("it needs gradients, and there is no autograd yet")

-- A nest of ten functions that ends in x + 1.
local function add_one(x) return x + 1 end
local nest = add_one
for _ = 2, 10 do
  local inner = nest
  nest = function(x) return inner(x) end
end

-- depth levels of `width` modules each, below the last of which are relus alone.
local Nested = nn.class("Nested")
function Nested:init(depth, width)
  local below = {}
  for i = 1, width do below[i] = depth > 0 and Nested(depth - 1, width) or nn.ReLU() end
  self.relu_a, self.relu_b, self.below, self.a = nn.ReLU(), nn.ReLU(), nn.Sequential(below), 2
end
function Nested:forward(x)
  x = self.relu_a(x)
  x = x + self.below(x)
  return x + self.relu_b(x) + self.a
end

-- depth modules, each the child of one more, each with a layer behind its child.
local Deep = nn.class("Deep")
function Deep:init(depth)
  self.child = depth > 0 and Deep(depth - 1) or nil
  self.linear = nn.Linear(10, 10)
end
function Deep:forward(x)
  if self.child then x = self.child(x) end
  return self.linear(x)
end

-- A layer with a scale, and a model of such that breaks in the middle and needs after it what it collected before.
local Scaled = nn.class("Scaled")
function Scaled:init() self.linear1, self.scale = nn.Linear(10, 10), tb.randn({ 1, 10 }) end
function Scaled:forward(x) return F.relu(self.linear1(x)) * self.scale end

local Breaking = nn.class("Breaking")
function Breaking:init()
  self.layer1, self.layer2 = Scaled(), Scaled()
  self.layer3 = nn.Sequential { Scaled(), Scaled() }
  self.layer4 = { nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 10), nn.ReLU() }
  self.layer5 = { zero = nn.Linear(10, 10) }
  self.scale = tb.randn({ 1, 10 })
end
function Breaking:forward(x)
  x = self.layer1(x)
  local by_name = {}
  for name, parameter in self:named_parameters() do by_name[name] = parameter end
  local list = self:parameters()
  io.write("")
  x = self.layer2(x) + by_name["layer3.2.linear1.weight"] + by_name["layer4.3.weight"] + by_name["layer5.zero.weight"]
  return x * self.scale, #list
end

-- Layers that are told apart by which one they are; the last one's result is the model's.
local Comparing = nn.class("Comparing")
function Comparing:init() self.layer0, self.layer1, self.layer2 = nn.Linear(10, 10), nn.Linear(10, 10), nn.Linear(10, 10) end
function Comparing:forward(x)
  local output
  for _, layer in ipairs { self.layer0, self.layer1, self.layer2 } do
    output = layer(x)
    if layer == nil or layer == self.layer0 then output = output:clamp(0, 6) else output = F.relu(output) end
  end
  return output
end

-- `depth` functions, each of which calls the next between two loops of as many additions; the innermost breaks.
local function adds(x)
  for _ = 1, NEST do x = x + 1 end
  return x
end
local function nested_breaks(depth)
  local fn = function(x)
    x = adds(x)
    io.write("")
    return adds(x)
  end
  for _ = 1, depth do
    local inner = fn
    fn = function(x) return adds(inner(adds(x))) end
  end
  return fn
end

local function linears(count, size, case)
  local list = {}
  for i = 1, count do list[i] = nn.Linear(size, size):to(case) end
  return list
end

-- A block of a diffusion transformer: adaptive layer norm by a condition, self attention, attention to a text, and a perceptron.
local function dit_block(dim, heads, case)
  local function layer(from, to) return nn.Linear(from, to):to(case) end
  local modulation, qkv, self_out = layer(dim, 6 * dim), layer(dim, 3 * dim), layer(dim, dim)
  local cross_q, cross_kv, cross_out = layer(dim, dim), layer(dim, 2 * dim), layer(dim, dim)
  local up, down = layer(dim, 4 * dim), layer(4 * dim, dim)
  local function split_heads(x) return x:unflatten(-1, { heads, dim // heads }):transpose(2, 3) end
  local function attend(q, k, v)
    local y = F.scaled_dot_product_attention(split_heads(q), split_heads(k), split_heads(v))
    return y:transpose(2, 3):flatten(-2, -1)
  end
  return function(image, text, condition)
    local m = modulation(F.silu(condition)):unsqueeze(2):chunk(6, -1)
    local hidden = F.layer_norm(image, { dim }) * (m[2] + 1) + m[1]
    local own = qkv(hidden):chunk(3, -1)
    image = image + m[3] * self_out(attend(own[1], own[2], own[3]))
    local from_text = cross_kv(text):chunk(2, -1)
    image = image + cross_out(attend(cross_q(F.layer_norm(image, { dim })), from_text[1], from_text[2]))
    hidden = F.layer_norm(image, { dim }) * (m[5] + 1) + m[4]
    return image + m[6] * down(F.gelu(up(hidden), "tanh"))
  end
end

-- The model around its blocks: `regional`, each is compiled by itself, and what lies around them runs as it stands.
local function dit(count, dim, heads, case)
  local first, second, out = nn.Linear(dim, dim):to(case), nn.Linear(dim, dim):to(case), nn.Linear(dim, dim):to(case)
  local norm, blocks = nn.LayerNorm(dim):to(case), {}
  for i = 1, count do blocks[i] = dit_block(dim, heads, case) end
  return blocks, function(image, text, timestep)
    local condition = second(F.silu(first(timestep)))
    for i = 1, #blocks do image = blocks[i](image, text, condition) end
    return out(norm(image))
  end
end
local function dit_args(case) return { tb.randn({ 1, 16, 64 }, case), tb.randn({ 1, 8, 64 }, case), tb.randn({ 1, 64 }, case) } end

-- Layers that share an object, and each have numbers and a tensor of their own.
local function guarded_layers(count, hidden, case)
  local shared, layers = { flag = true }, {}
  for i = 1, count do layers[i] = { eps = 1e-6, scale = 0.5 + i * 1e-3, bias = tb.randn({ hidden }, case), shared = shared } end
  return layers
end

local function sum_of(list)
  local total = 0
  for i = 1, #list do total = total + list[i] end
  return total
end

-- Sizes below ten, the same in each run; `least` (0) is the smallest.
local function sizes_of(count, least)
  local list, state = {}, 1
  for i = 1, count do
    state = (state * 1103515245 + 12345) % 2147483648
    list[i] = math.max(least or 0, state // 65536 % 10)
  end
  return list
end

return tb.suite {
  name = "torch_compile_time",
  about = "PyTorch's compile-time instruction benchmarks",
  counters = "callgrind",
  timeout = 300,
  axes = { form = { "static", "dynamic" }, dtype = { "f32" } },
  modes_of = { mm_loop = { "max-autotune" } },
  workloads = {
    add_loop = function(case)
      return one(case, function(a, b)
        local r = a:clone()
        for i = 0, ADDS - 1 do
          if i % 3 == 0 then r = r + b elseif i % 3 == 1 then r = r + 8 * b else r = r:sin() end
        end
        return r
      end, tb.ones(1000, case), tb.ones(1000, case))
    end,
    aotdispatcher = function(case)
      local inputs = {}
      for i = 1, 100 do inputs[i] = tb.ones(100, case) end
      return one(case, function(list)
        local out = {}
        for i = 1, #list do out[i] = list[i] + list[i] end
        return out
      end, inputs)
    end,
    aotdispatcher_training = needs_gradients,
    partitioner_1 = needs_gradients,
    partitioner_2 = needs_gradients,
    list_of_linears = function(case)
      local l = linears(20, 10, case)
      return one(case, function(x)
        for i = 0, 19 do x = l[i // 2 + 1](x) + l[i + 1](x) end
        return x
      end, tb.ones(10, case))
    end,
    inline_mod = function(case)
      return one(case, function(x)
        for _ = 1, CALLS do x = nest(x) end
        return x
      end, tb.ones(10, case))
    end,
    nested_module = function(case)
      local model = Nested(5, 3)
      return one(case, function(x) return model(x) end, tb.ones(10, case))
    end,
    deep_nested_module = function(case)
      local model = Deep(40):to(case)
      return one(case, function(x) return model(x) end, tb.ones(1, 10, case))
    end,
    mm_loop = function(case) -- tenths, so that their powers stay finite
      return one(case, function(a, b)
        local z = a:matmul(b)
        for _ = 1, MATMULS do z = z:matmul(b) end
        return z
      end, tb.ones(10, 10, case), tb.full({ 10, 10 }, 0.1, case))
    end,
    symint_sum = function(case)
      return one(case, function(x, sizes) return x + sum_of(sizes) end, tb.ones(1, case), sizes_of(SIZES))
    end,
    symint_sum_loop = function(case)
      return one(case, function(x, sizes)
        local total = 0
        for i = 1, #sizes do total = total + sizes[i] end
        return x + total
      end, tb.ones(1, case), sizes_of(SIZES))
    end,
    update_hint = function(case)
      local sizes = sizes_of(20)
      return one(case, function(x, list)
        for i = 1, #list do if list[i] < 0 or list[i] > #list then error("size") end end
        return x:split(list)
      end, tb.randn({ sum_of(sizes) }, case), sizes)
    end,
    float_args = function(case) -- eight calls with eight numbers are one workload: what they compile together is counted
      local x = tb.randn({ 3 }, case)
      return { options = options(case), args = { x }, parts = function(compile)
        local f = compile(function(y, number) return y + number end)
        return function(y)
          local out = {}
          for i = 0, 7 do out[i + 1] = f(y, i * 2.5) end
          return out
        end
      end }
    end,
    unbind_split_flip_cat = function(case)
      local sizes, data = {}, {}
      for i = 1, 40 do
        sizes[i] = sizes_of(32 + i, 1)
        for _ = 1, i do table.remove(sizes[i], 1) end
        data[i] = tb.arange(0, sum_of(sizes[i]), 1, { dtype = "i64" })
      end
      return one(case, function(size_lists, tensors)
        local results = {}
        for i = 1, #tensors do
          local list = size_lists[i]
          for k = 1, #list do if list[k] < 0 then error("size") end end
          local parts = tensors[i]:split(list)
          for k = 1, #parts do parts[k] = parts[k]:flip(1) end
          results[i] = tb.cat(parts, 1)
        end
        return results
      end, sizes, data)
    end,
    diffusion_dit = function(case)
      local _, model = dit(4, 64, 4, case)
      return { fn = model, args = dit_args(case), options = options(case) }
    end,
    diffusion_dit_regional = function(case)
      local blocks, model = dit(4, 64, 4, case)
      return { options = options(case), args = dit_args(case), parts = function(compile)
        for i = 1, #blocks do blocks[i] = compile(blocks[i]) end
        return model
      end }
    end,
    guard_eval = function(case) -- after the first call, a call is one check of the guards
      local layers = guarded_layers(20, 64, case)
      local function model(x)
        for i = 1, #layers do
          local layer = layers[i]
          if layer.shared.flag then x = x + layer.eps end
          x = x * layer.scale + layer.bias
        end
        return x
      end
      return { options = options(case), args = { tb.randn({ 128, 64 }, case):narrow(1, 1, 64) }, parts = function(compile)
        local compiled, result = compile(model), nil
        return function(x)
          if compiled == model or not tb.check_guards(compiled, x) then result = compiled(x) end
          return result
        end
      end }
    end,
    runtime_overhead = function(case) return one(case, function(x) return x + 1 end, tb.ones(2, case)) end,
    runtime_overhead_requires_grad = needs_gradients,
    runtime_overhead_backward = needs_gradients,
    shared_relu = function(case)
      local relu = nn.ReLU()
      local model = nn.Sequential { nn.Linear(10, 20), relu, nn.Linear(20, 20), relu, nn.Linear(20, 10), relu }:to(case)
      return one(case, function(x) return model(x) end, tb.ones(10, case))
    end,
    module_comparison = function(case)
      local model = Comparing():to(case)
      return one(case, function(x) return model(x) end, tb.ones(10, case))
    end,
    graph_break = function(case)
      return one(case, Breaking():to(case), tb.ones(10, case)) -- the module itself: a call of it within a function that calls it would run plain
    end,
    import_time = function(case) return one(case, function(x) return x + 1 end, tb.ones(2, case)) end,
    cache_hit = function(case)
      return one(case, function(x)
        for _ = 1, SINES do x = x:sin() end
        return x
      end, tb.randn({ 4 }, case))
    end,
    nested_graph_breaks = function(case) return one(case, nested_breaks(NEST), tb.ones(3, case)) end,
  },
}
