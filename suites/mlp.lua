-- A three-layer perceptron, 1024-4096-4096-1024: matmuls with bias and relu between them.
local tb = require "tbench"
local nn = tb.nn

return tb.suite {
  name = "mlp",
  about = "perceptron 1024-4096-4096-1024 with relu",
  axes = { batch = { 1, 8, 64, 512 }, dtype = { "f32" } },
  workloads = {
    mlp = function(case)
      local model = nn.Sequential { nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1024) }:to(case)
      return { fn = function(x) return model(x) end, args = { tb.randn({ case.batch, 1024 }, case) } }
    end,
  },
}
