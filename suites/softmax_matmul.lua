-- softmax(x) @ w on square matrices; batch is their order.
local tb = require "tbench"

return tb.suite {
  name = "softmax_matmul",
  about = "softmax of a square matrix, then a matmul",
  axes = { batch = { 100, 256, 512, 1024 }, dtype = { "f32" } },
  workloads = {
    softmax_matmul = function(case)
      local n = case.batch
      return {
        fn = function(x, w) return x:softmax(-1):matmul(w) end,
        args = { tb.randn({ n, n }, case), tb.randn({ n, n }, case) },
      }
    end,
  },
}
