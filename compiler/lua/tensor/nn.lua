-- tb.nn: modules over tensor functions, with PyTorch's names, defaults and initialisation.
--
-- A module is a plain table whose metatable is its class; whatever runs in a forward call is straight Lua, so that capture
-- traces through it. Its parameters are its tensor fields; fields that are modules, or plain tables of either, are searched
-- too. A new class:
--
--     local Scale = nn.class("Scale")
--     function Scale:init(size) self.weight = tb.ones({size}) end
--     function Scale:forward(x) return x * self.weight end
--     local scale = Scale(8); print(scale(tb.rand({2, 8})))
local tb, functional = ...
local nn = { functional = functional }

local linear, embedding, dropout = functional.linear, functional.embedding, functional.dropout
local relu, gelu, silu = functional.relu, functional.gelu, functional.silu
local layer_norm, rms_norm = functional.layer_norm, functional.rms_norm
local attention = functional.scaled_dot_product_attention

local Module = {}
Module.__index = Module
nn.Module = Module

local function construct(class, ...)
  local self = setmetatable({ training = true }, class)
  class.init(self, ...)
  return self
end

-- A new class of modules, below `parent` (default: nn.Module). Calling the class makes a module and runs its init.
function nn.class(name, parent)
  local class = { __name = name, __call = Module.__call, __tostring = Module.__tostring }
  class.__index = class
  return setmetatable(class, { __index = parent or Module, __call = construct })
end

local function is_module(value)
  local class = type(value) == "table" and getmetatable(value)
  while class and class ~= Module do
    local meta = getmetatable(class)
    class = meta and meta.__index
  end
  return class == Module
end
nn.is_module = is_module

-- A table that may hold parameters: a module, or a plain table.
local function is_container(value)
  return type(value) == "table" and (getmetatable(value) == nil or is_module(value))
end

-- Keys in a fixed order: numbers first, then names.
local function sorted_keys(container)
  local keys = {}
  for key in pairs(container) do
    if type(key) == "number" or type(key) == "string" then keys[#keys + 1] = key end
  end
  table.sort(keys, function(a, b)
    if type(a) == type(b) then return a < b end
    return type(a) == "number"
  end)
  return keys
end

-- Calls visit(container, key, value, path) for each tensor and each module below `container`, every table once.
local function walk(container, path, seen, visit)
  if seen[container] then return end
  seen[container] = true
  for _, key in ipairs(sorted_keys(container)) do
    local value = container[key]
    local name = path == "" and tostring(key) or path .. "." .. key
    if tb.is_tensor(value) then
      visit(container, key, value, name)
    elseif is_container(value) then
      if is_module(value) then visit(container, key, value, name) end
      walk(value, name, seen, visit)
    end
  end
end

function Module:init() end

function Module.__call(self, ...)
  return self:forward(...)
end

function Module:forward()
  error("the module " .. tostring(getmetatable(self).__name) .. " has no forward", 3)
end

-- A list of {name, tensor}, each tensor once, in a fixed order.
local function collect(self)
  local found, seen = {}, {}
  walk(self, "", {}, function(_, _, value, name)
    if tb.is_tensor(value) and not seen[value] then
      seen[value] = true
      found[#found + 1] = { name, value }
    end
  end)
  return found
end

-- The parameters as a list.
function Module:parameters()
  local list = collect(self)
  for i, entry in ipairs(list) do list[i] = entry[2] end
  return list
end

-- for name, parameter in module:named_parameters() do … end
function Module:named_parameters()
  local list, i = collect(self), 0
  return function()
    i = i + 1
    if list[i] then return list[i][1], list[i][2] end
  end
end

-- Casts the floating-point parameters to a dtype ("bf16"), or to case.dtype and then, if it is set, to
-- case.reference_dtype: a reference in f64 holds exactly the values that the case rounds to. Returns the module.
function Module:to(case)
  local dtype, reference = case, nil
  if type(case) == "table" then dtype, reference = case.dtype, case.reference_dtype end
  local cast = {} -- a tensor that stands in two places stays one
  walk(self, "", {}, function(container, key, value)
    if not tb.is_tensor(value) or value.dtype == "i64" or value.dtype == "bool" then return end
    if not cast[value] then
      local new = dtype and value:to(dtype) or value
      cast[value] = reference and new:to(reference) or new
    end
    container[key] = cast[value]
  end)
  return self
end

-- Sets the training mode of the module and all below it (default: true). Returns the module.
function Module:train(mode)
  if mode == nil then mode = true end
  self.training = mode
  walk(self, "", {}, function(_, _, value)
    if is_module(value) then value.training = mode end
  end)
  return self
end

function Module:eval()
  return self:train(false)
end

-- What stands in the parentheses of the text: overridden by classes with settings.
function Module:extra_repr()
  return ""
end

function Module.__tostring(self)
  local lines = {}
  for _, key in ipairs(sorted_keys(self)) do
    if is_module(self[key]) then
      lines[#lines + 1] = "  (" .. key .. "): " .. tostring(self[key]):gsub("\n", "\n  ")
    end
  end
  local name, extra = getmetatable(self).__name, self:extra_repr()
  if #lines == 0 then return name .. "(" .. extra .. ")" end
  return name .. "(" .. extra .. "\n" .. table.concat(lines, "\n") .. "\n)"
end

-- Uniform in [-bound, bound), drawn in f32 whatever the default dtype: the same numbers in every precision.
local function uniform(shape, bound)
  return (tb.rand(shape, { dtype = "f32" }) * 2 - 1) * bound
end

local function full(value, shape)
  return tb.full(shape, value, { dtype = "f32" })
end

-- y = x · weightᵀ + bias
local Linear = nn.class("Linear")
nn.Linear = Linear

function Linear:init(in_features, out_features, bias)
  self.in_features, self.out_features = in_features, out_features
  local bound = 1 / math.sqrt(in_features) -- Kaiming's uniform with a = √5
  self.weight = uniform({ out_features, in_features }, bound)
  if bias ~= false then self.bias = uniform({ out_features }, bound) end
end

function Linear:forward(x)
  return linear(x, self.weight, self.bias)
end

function Linear:extra_repr()
  return string.format("in_features=%d, out_features=%d, bias=%s", self.in_features, self.out_features, self.bias ~= nil)
end

local ReLU = nn.class("ReLU")
nn.ReLU = ReLU

function ReLU:forward(x)
  return relu(x)
end

-- approximate: "none" (the default: by erf) or "tanh"
local GELU = nn.class("GELU")
nn.GELU = GELU

function GELU:init(approximate)
  self.approximate = approximate or "none"
end

function GELU:forward(x)
  return gelu(x, self.approximate)
end

function GELU:extra_repr()
  return "approximate=" .. self.approximate
end

local SiLU = nn.class("SiLU")
nn.SiLU = SiLU

function SiLU:forward(x)
  return silu(x)
end

local function shape_of(normalized_shape)
  return type(normalized_shape) == "number" and { normalized_shape } or normalized_shape
end

local function norm_repr(self)
  local eps = self.eps and string.format("%g", self.eps) or "nil"
  return string.format("{%s}, eps=%s, elementwise_affine=%s", table.concat(self.normalized_shape, ", "), eps, self.weight ~= nil)
end

-- Over the last dimensions: normalized_shape is a size or a list of sizes.
local LayerNorm = nn.class("LayerNorm")
nn.LayerNorm = LayerNorm

function LayerNorm:init(normalized_shape, eps, elementwise_affine, bias)
  self.normalized_shape, self.eps = shape_of(normalized_shape), eps or 1e-5
  if elementwise_affine == false then return end
  self.weight = full(1, self.normalized_shape)
  if bias ~= false then self.bias = full(0, self.normalized_shape) end
end

function LayerNorm:forward(x)
  return layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
end

LayerNorm.extra_repr = norm_repr

-- eps: nil means the distance from 1 to the next number of the input's dtype.
local RMSNorm = nn.class("RMSNorm")
nn.RMSNorm = RMSNorm

function RMSNorm:init(normalized_shape, eps, elementwise_affine)
  self.normalized_shape, self.eps = shape_of(normalized_shape), eps
  if elementwise_affine ~= false then self.weight = full(1, self.normalized_shape) end
end

function RMSNorm:forward(x)
  return rms_norm(x, self.normalized_shape, self.weight, self.eps)
end

RMSNorm.extra_repr = norm_repr

-- Rows of the weight by index values that count from 1.
local Embedding = nn.class("Embedding")
nn.Embedding = Embedding

function Embedding:init(num_embeddings, embedding_dim)
  self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
  self.weight = tb.randn({ num_embeddings, embedding_dim }, { dtype = "f32" })
end

function Embedding:forward(index)
  return embedding(index, self.weight)
end

function Embedding:extra_repr()
  return string.format("%d, %d", self.num_embeddings, self.embedding_dim)
end

local Dropout = nn.class("Dropout")
nn.Dropout = Dropout

function Dropout:init(p)
  self.p = p or 0.5
end

function Dropout:forward(x)
  return dropout(x, self.p, self.training)
end

function Dropout:extra_repr()
  return string.format("p=%g", self.p)
end

-- nn.Sequential { first, second, … } or nn.Sequential(first, second, …)
local Sequential = nn.class("Sequential")
nn.Sequential = Sequential

function Sequential:init(first, ...)
  local modules = is_module(first) and { first, ... } or first or {}
  for i, module in ipairs(modules) do self[i] = module end
end

function Sequential:forward(x)
  for i = 1, #self do x = self[i](x) end
  return x
end

-- Self-attention, batch first: x is [batch, length, embed_dim].
local MultiheadAttention = nn.class("MultiheadAttention")
nn.MultiheadAttention = MultiheadAttention

function MultiheadAttention:init(embed_dim, num_heads, bias)
  if embed_dim % num_heads ~= 0 then
    error(string.format("MultiheadAttention: embed_dim %d is no multiple of num_heads %d", embed_dim, num_heads), 3)
  end
  self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
  self.in_proj = Linear(embed_dim, 3 * embed_dim, bias)
  self.out_proj = Linear(embed_dim, embed_dim, bias)
  self.in_proj.weight = uniform({ 3 * embed_dim, embed_dim }, math.sqrt(6 / (4 * embed_dim))) -- Xavier's uniform
  if bias ~= false then
    self.in_proj.bias = full(0, { 3 * embed_dim })
    self.out_proj.bias = full(0, { embed_dim })
  end
end

-- mask (bool: true takes part; or a number that is added): [length, length] or with leading dimensions that broadcast.
function MultiheadAttention:forward(x, mask, is_causal)
  local batch, length = x:size(1), x:size(2)
  local parts = self.in_proj(x):chunk(3, -1)
  local q = parts[1]:view(batch, length, self.num_heads, self.head_dim):transpose(2, 3)
  local k = parts[2]:view(batch, length, self.num_heads, self.head_dim):transpose(2, 3)
  local v = parts[3]:view(batch, length, self.num_heads, self.head_dim):transpose(2, 3)
  local heads = attention(q, k, v, mask, 0.0, is_causal or false)
  return self.out_proj(heads:transpose(2, 3):reshape(batch, length, self.embed_dim))
end

function MultiheadAttention:extra_repr()
  return string.format("embed_dim=%d, num_heads=%d", self.embed_dim, self.num_heads)
end

return nn
