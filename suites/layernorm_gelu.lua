-- gelu(layer_norm(x)) + residual over rows of 4096.
local tb = require "tbench"
local nn = tb.nn
local F = tb.nn.functional

return tb.suite {
  name = "layernorm_gelu",
  about = "layer norm, gelu and residual over rows of 4096",
  axes = { batch = { 64, 1024, 8192 }, dtype = { "f32" } },
  workloads = {
    layernorm_gelu = function(case)
      local norm = nn.LayerNorm(4096):to(case)
      return {
        fn = function(x, r) return F.gelu(norm(x)) + r end,
        args = { tb.randn({ case.batch, 4096 }, case), tb.randn({ case.batch, 4096 }, case) },
      }
    end,
  },
}
