-- One pre-norm transformer block: 8 heads, width 512, 512 tokens.
local tb = require "tbench"
local nn = tb.nn

local WIDTH, HEADS, TOKENS = 512, 8, 512

return tb.suite {
  name = "transformer",
  about = "pre-norm transformer block, 8 heads, width 512, 512 tokens",
  axes = { batch = { 1, 4, 8 }, dtype = { "f32" } },
  workloads = {
    block = function(case)
      local norm1, norm2 = nn.LayerNorm(WIDTH):to(case), nn.LayerNorm(WIDTH):to(case)
      local attention = nn.MultiheadAttention(WIDTH, HEADS):to(case)
      local mlp = nn.Sequential { nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH) }:to(case)
      return {
        fn = function(x)
          local y = x + attention(norm1(x))
          return y + mlp(norm2(y))
        end,
        args = { tb.randn({ case.batch, TOKENS, WIDTH }, case) },
      }
    end,
  },
}
