-- Scoring functions over image patches and images: reductions, slices and broadcasts.
local tb = require "tbench"

return tb.suite {
  name = "scorers",
  about = "entropy of a softmax, Sobel salience, query-content attention",
  axes = { batch = { 1, 8, 32 }, dtype = { "f32" } },
  workloads = {
    -- Entropy of a softmax over 768 channels of 196 patches.
    entropy = function(case)
      return {
        fn = function(x)
          local p = x:softmax(-1)
          return -(p * (p + 1e-9):log()):sum(-1)
        end,
        args = { tb.randn({ case.batch, 196, 768 }, case) },
      }
    end,
    -- Gradient magnitude by shifted slices of a 224 x 224 image.
    sobel = function(case)
      return {
        fn = function(x)
          local h, w = x:size(2), x:size(3)
          local top, middle, bottom = x:narrow(2, 1, h - 2), x:narrow(2, 2, h - 2), x:narrow(2, 3, h - 2)
          local function left(t) return t:narrow(3, 1, w - 2) end
          local function centre(t) return t:narrow(3, 2, w - 2) end
          local function right(t) return t:narrow(3, 3, w - 2) end
          local gx = right(top) - left(top) + 2 * (right(middle) - left(middle)) + right(bottom) - left(bottom)
          local gy = left(bottom) - left(top) + 2 * (centre(bottom) - centre(top)) + right(bottom) - right(top)
          return (gx * gx + gy * gy + 1e-12):sqrt()
        end,
        args = { tb.randn({ case.batch, 224, 224 }, case) },
      }
    end,
    -- One query against 196 patches: scores, softmax, weighted sum.
    query_content = function(case)
      return {
        fn = function(q, content)
          local scores = (q * content):sum(-1) * (768 ^ -0.5)
          local weights = scores:softmax(-1)
          return (weights:unsqueeze(-1) * content):sum(2)
        end,
        args = { tb.randn({ case.batch, 1, 768 }, case), tb.randn({ case.batch, 196, 768 }, case) },
      }
    end,
  },
}
