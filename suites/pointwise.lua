-- Chains of pointwise operations. One row is 262144 elements: in f32, batch counts MiB (4, 16 and 256).
local tb = require "tbench"
local F = tb.nn.functional

local ROW = 262144

return tb.suite {
  name = "pointwise",
  about = "fused pointwise chains on 4, 16 and 256 MiB (f32)",
  axes = { batch = { 4, 16, 256 }, dtype = { "f32" } },
  workloads = {
    -- Five transcendental functions: arithmetic-bound on a CPU when fused.
    trig = function(case)
      return {
        fn = function(x) return x:sin():cos():tan():exp():log() end,
        args = { tb.randn({ case.batch, ROW }, case) },
      }
    end,
    -- A gelu with an affine input and a residual: reads two streams, writes one.
    gelu = function(case)
      local scale, shift = tb.randn({ ROW }, case), tb.randn({ ROW }, case)
      return {
        fn = function(x, r) return F.gelu(x * scale + shift) + r end,
        args = { tb.randn({ case.batch, ROW }, case), tb.randn({ case.batch, ROW }, case) },
      }
    end,
    -- Three inputs of three shapes: [batch, N], [N] and [batch, 1].
    broadcast = function(case)
      return {
        fn = function(x, column, row) return (x * column + row):relu() * 0.5 - x end,
        args = { tb.randn({ case.batch, ROW }, case), tb.randn({ ROW }, case), tb.randn({ case.batch, 1 }, case) },
      }
    end,
  },
}
