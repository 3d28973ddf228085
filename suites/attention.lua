-- Scaled dot-product attention, 8 heads of 64, 256 tokens; plain and causal.
local tb = require "tbench"
local F = tb.nn.functional

local HEADS, TOKENS, WIDTH = 8, 256, 64

local function qkv(case)
  local shape = { case.batch, HEADS, TOKENS, WIDTH }
  return { tb.randn(shape, case), tb.randn(shape, case), tb.randn(shape, case) }
end

return tb.suite {
  name = "attention",
  about = "scaled dot-product attention, 8 heads of 64, 256 tokens",
  axes = { batch = { 1, 4, 16 }, dtype = { "f32" } },
  workloads = {
    full = function(case)
      return { fn = function(q, k, v) return F.scaled_dot_product_attention(q, k, v) end, args = qkv(case) }
    end,
    causal = function(case)
      return { fn = function(q, k, v) return F.scaled_dot_product_attention(q, k, v, { is_causal = true }) end, args = qkv(case) }
    end,
  },
}
