-- PyTorch's compile-time instruction benchmarks (benchmarks/dynamo/pr_time_benchmarks), built anew from their published descriptions:
-- what a compile costs, in instructions. tbench report FILE format=peers_counts puts the counts that PyTorch expects of itself beside. What this library cannot express is listed as unsupported, with the reason.
--
-- `form`: static sizes, or dynamic ones (dynamic = true).
local tb = require "tbench"
local nn = tb.nn

local ADDS, MATMULS, SIZES, CALLS, SINES = 1000, 200, 200, 1000, 10000

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

-- depth levels of `width` modules each: x = relu(x); x + children(x); x + relu(x) + 2.
local function nested(depth, width)
  local children = {}
  if depth > 0 then for i = 1, width do children[i] = nested(depth - 1, width) end end
  return function(x)
    x = x:relu()
    local y = x
    for i = 1, #children do y = children[i](y) end
    x = x + y
    return x + x:relu() + 2
  end
end

local function linears(count, size, case)
  local list = {}
  for i = 1, count do list[i] = nn.Linear(size, size):to(case) end
  return list
end

-- A block of a diffusion transformer: adaptive layer norm by a condition, self attention, attention to a text, and a perceptron.
local function dit_block(dim, heads, case)
  local F = nn.functional
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
    return image + m[6] * down(F.gelu(up(hidden)))
  end
end

local function dit(count, dim, heads, case)
  local F = nn.functional
  local first, second, out = nn.Linear(dim, dim):to(case), nn.Linear(dim, dim):to(case), nn.Linear(dim, dim):to(case)
  local norm, blocks = nn.LayerNorm(dim):to(case), {}
  for i = 1, count do blocks[i] = dit_block(dim, heads, case) end
  return function(image, text, timestep)
    local condition = second(F.silu(first(timestep)))
    for i = 1, #blocks do image = blocks[i](image, text, condition) end
    return out(norm(image))
  end
end

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

local function numbers(count)
  local list = {}
  for i = 1, count do list[i] = i end
  return list
end

return tb.suite {
  name = "torch_compile_time",
  about = "PyTorch's compile-time instruction benchmarks",
  counters = "callgrind",
  timeout = 300,
  axes = { form = { "static", "dynamic" }, dtype = { "f32" } },
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
      end, tb.ones(10, 10, case))
    end,
    inline_mod = function(case)
      return one(case, function(x)
        for _ = 1, CALLS do x = nest(x) end
        return x
      end, tb.ones(10, case))
    end,
    nested_module = function(case) return one(case, nested(5, 3), tb.ones(10, case)) end,
    deep_nested_module = function(case)
      local model = nn.Linear(10, 10):to(case)
      for _ = 2, 40 do model = nn.Sequential { model, nn.Linear(10, 10):to(case) } end
      return one(case, function(x) return model(x) end, tb.ones(10, 10, case))
    end,
    mm_loop = function(case)
      return one(case, function(a, b)
        for _ = 1, MATMULS do a = a:matmul(b) * 0.1 end
        return a
      end, tb.ones(10, 10, case), tb.ones(10, 10, case))
    end,
    symint_sum = function(case)
      return one(case, function(x, sizes) return x + sum_of(sizes) end, tb.ones(5, case), numbers(SIZES))
    end,
    symint_sum_loop = function(case)
      return one(case, function(x, sizes)
        local total = 0
        for i = 1, #sizes do total = total + sizes[i] end
        return x + total
      end, tb.ones(5, case), numbers(SIZES))
    end,
    update_hint = function(case)
      local sizes = numbers(20)
      return one(case, function(x, list)
        for i = 1, #list do if list[i] < 0 or list[i] > #list then error("size") end end
        return x:split(list)
      end, tb.ones(sum_of(sizes), case), sizes)
    end,
    float_args = function(case)
      local x = tb.randn({ 3 }, case)
      return { fn = function(y, number) return y + number end, args = function(i) return { x, 2.5 * ((i - 1) % 8 + 1) } end, options = options(case) }
    end,
    unbind_split_flip_cat = function(case)
      local sizes = {}
      for i = 1, 32 do sizes[i] = 2 + i % 3 end
      local total = 0
      for i = 1, 32 do total = total + sizes[i] end
      return one(case, function(x, list)
        for _ = 1, 40 do
          local parts = x:split(list)
          for i = 1, #parts do parts[i] = parts[i]:flip(1) end
          x = tb.cat(parts, 1)
        end
        return x
      end, tb.arange(0, total, 1, case), sizes)
    end,
    diffusion_dit = function(case)
      return one(case, dit(4, 64, 4, case), tb.randn({ 1, 16, 64 }, case), tb.randn({ 1, 8, 64 }, case), tb.randn({ 1, 64 }, case))
    end,
    diffusion_dit_regional = unsupported("it compiles each block by itself; a workload here is one function, compiled as a whole"),
    guard_eval = function(case)
      local layers = guarded_layers(20, 64, case)
      return one(case, function(x)
        for i = 1, #layers do
          local layer = layers[i]
          if layer.shared.flag then x = x + layer.eps end
          x = x * layer.scale + layer.bias
        end
        return x
      end, tb.randn({ 128, 64 }, case):narrow(1, 1, 64))
    end,
    runtime_overhead = function(case) return one(case, function(x) return x + 1 end, tb.ones(2, case)) end,
    runtime_overhead_requires_grad = needs_gradients,
    runtime_overhead_backward = needs_gradients,
    shared_relu = function(case)
      local relu, l = nn.ReLU(), linears(20, 10, case)
      return one(case, function(x)
        for i = 1, #l do x = relu(l[i](x)) end
        return x
      end, tb.ones(10, 10, case))
    end,
    module_comparison = function(case)
      local relu, l = nn.ReLU(), linears(20, 10, case)
      local last = l[#l]
      return one(case, function(x)
        for i = 1, #l do
          x = l[i](x)
          if l[i] ~= last then x = relu(x) end
        end
        return x
      end, tb.ones(10, 10, case))
    end,
    graph_break = function(case)
      return one(case, function(x)
        for i = 1, 8 do
          x = x * 1.5 + 1
          io.write("")
        end
        return x
      end, tb.ones(10, case))
    end,
    import_time = unsupported("it measures the start of a process, before there is a call to count"),
    cache_hit = function(case)
      return one(case, function(x)
        for _ = 1, SINES do x = x:sin() end
        return x
      end, tb.ones(10, case))
    end,
    nested_graph_breaks = function(case)
      local function inner(x)
        x = x + 1
        io.write("")
        return x * 2
      end
      local function middle(x) return inner(x) - inner(x + 3) end
      return one(case, function(x) return middle(x) + middle(x * 2) end, tb.ones(10, case))
    end,
  },
}
