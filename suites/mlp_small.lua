-- Eight small layers: what each call and each kernel costs beside its arithmetic.
local tb = require "tbench"
local nn = tb.nn

return tb.suite {
  name = "mlp_small",
  about = "8 x (Linear 256 + relu): the overhead of small operations",
  axes = { batch = { 1, 64, 512 }, dtype = { "f32" } },
  workloads = {
    mlp_small = function(case)
      local layers = {}
      for _ = 1, 8 do
        layers[#layers + 1] = nn.Linear(256, 256)
        layers[#layers + 1] = nn.ReLU()
      end
      local model = nn.Sequential(layers):to(case)
      return { fn = function(x) return model(x) end, args = { tb.randn({ case.batch, 256 }, case) } }
    end,
  },
}
