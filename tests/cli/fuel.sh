#!/bin/bash
# Fuel (fuel.*): any of the optional transformations may be left out, and results are right; without limits nothing changes.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

cat > models.lua <<'EOF_LUA'
local tb = require "tbench"
local nn, F = tb.nn, tb.nn.functional
local artifacts = ... == "artifacts"

-- How far apart, as a share of the largest value.
local function distance(a, b)
  local x, y = a:double():reshape(-1), b:double():reshape(-1)
  return ((x - y):abs():max() / (y:abs():max() + 1e-30)):item()
end

local function try(name, f, ...)
  local compiled = tb.compile(f, { fullgraph = true, options = { matmul = name == "products" and "tile_4x2" or "auto" } })
  local plain, fast = table.pack(f(...)), table.pack(compiled(...))
  for i = 1, plain.n do
    local apart = distance(fast[i], plain[i])
    if not (apart < 1e-5) then error(("%s: result %d is %g from the eager one"):format(name, i, apart)) end
  end
  local stats = tb.stats(compiled)
  print(name, stats.kernels, artifacts and stats.artifact or "")
end

tb.manual_seed(3)
local mlp = nn.Sequential { nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 8) }
try("mlp", function(x) return mlp(x) end, tb.randn { 4, 16 })
local q = { tb.randn { 4, 4, 512, 32 }, tb.randn { 4, 4, 512, 32 }, tb.randn { 4, 4, 512, 32 } }
try("attention", function(a, b, c) return F.scaled_dot_product_attention(a, b, c, { is_causal = true }) end, table.unpack(q))
local norm1, norm2, heads = nn.LayerNorm(32), nn.LayerNorm(32), nn.MultiheadAttention(32, 4)
local wide = nn.Sequential { nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32) }
try("block", function(x)
  local y = x + heads(norm1(x))
  return y + wide(norm2(y))
end, tb.randn { 2, 8, 32 })
local norm = nn.LayerNorm(128)
try("layernorm_gelu", function(x, y) return F.gelu(norm(x)) + y end, tb.randn { 64, 128 }, tb.randn { 64, 128 })
try("softmax", function(x) return x:softmax(-1), x:sum(1), x:transpose(1, 2):contiguous() * 2 end, tb.randn { 96, 640 })
try("chain", function(x) return x:sin():cos():tan():exp():log():sin():cos():tanh() end, tb.randn { 64, 1024 })
try("sum", function(x) return (x * 2):sum() end, tb.randn { 700, 1024 })
try("reshape", function(x) return (x:view(8, 4, 16):softmax(-1):view(32, 16) + 1):view(8, 64):sum(-1) end, tb.randn { 32, 16 })
try("rewrites", function(x) return -(-x) * 1 - 0, x:relu() / 1 end, tb.randn { 8 })
local w = tb.randn { 16, 16 } * 0.1
try("equal", function(x) return ((x:matmul(w):relu():matmul(w):relu() + 1):matmul(w):relu() + 1):matmul(w):relu() end, tb.randn { 8, 16 })
try("parts", function(x, y) return tb.cat({ x, y }, 2) + 1 end, tb.randn { 8, 64 }, tb.randn { 8, 96 })
try("products", function(x, y) return (x:matmul(y) + 1):relu() end, tb.randn { 12, 20 }, tb.randn { 20, 24 })
EOF_LUA

# The program's own names: a fuel that is added is tested.
fuels=$("$TBENCH" help switches | grep -o '^ *fuel\.[a-z_]*' | tr -d ' ')
[ "$(wc -w <<< "$fuels")" -ge 14 ]
tap_result $? 'there are fuels'
variable() { printf 'TB_%s' "$(tr 'a-z.' 'A-Z_' <<< "$1")"; }

export TB_CACHE=off TB_VERIFY=on
run "$TBENCH" lua models.lua artifacts
[ "$status" -eq 0 ] && [[ $out == *mlp*block*equal* ]]
tap_result $? 'models compile, and are right'
expected=$out
kernels=$(awk '{ n += $2 } END { print n }' <<< "$out")

none=() many=()
for name in $fuels; do
  none+=("$(variable "$name")=0")
  many+=("$(variable "$name")=1000000")
  run env "$(variable "$name")=1" "$TBENCH" lua models.lua
  [ "$status" -eq 0 ]
  tap_result $? "right with $name=1"
  # Each is reached by some model; whether stores bypass the caches depends on how large those are (tests/compiler/sched/test_fuel has it).
  run env "$(variable "$name")=0" "$TBENCH" lua models.lua artifacts
  [ "$status" -eq 0 ] && { [ "$out" != "$expected" ] || [ "$name" = fuel.stream ]; }
  tap_result $? "right with $name=0, which leaves something out"
done
run env "${none[@]}" "$TBENCH" lua models.lua
[ "$status" -eq 0 ] && [ "$(awk '{ n += $2 } END { print n }' <<< "$out")" -gt "$kernels" ]
tap_result $? 'right, with more kernels, without any of them'
run env "${many[@]}" "$TBENCH" lua models.lua artifacts
[ "$out" = "$expected" ]
tap_result $? 'limits that nothing comes to leave every artifact as it is'

# --- as right as with them: by the bound that the harness holds results to ---
cat > sums.lua <<'EOF_LUA'
local tb = require "tbench"
return tb.suite { name = "sums", workloads = {
  sum = function(case) return { fn = function(x) return (x * 2):sum(), x:softmax(1):sum(1) end, args = { tb.randn({ 700, 1024 }, case) } } end,
  spread = function(case) return { fn = function(x) return x:var(), x:log():sum() end, args = { tb.randn({ 2000, 1024 }, case):abs() + 3 } } end,
} }
EOF_LUA
settings=()
for name in $fuels; do settings+=("$name=0"); done
run "$TBENCH" run suite=./sums.lua quick=yes counters=none "${settings[@]}" out=sums.json
[ "$status" -eq 0 ]
tap_result $? 'long sums are as exact without any of them'

# --- what is told ---
cat > told.lua <<'EOF_LUA'
local tb = require "tbench"
local told = tb.explain(function(x) return (x:exp() + 1):softmax(-1):sum(1) end)(tb.randn { 64, 64 })
local fuel = told.pieces[1].entries[1].fuel
print(fuel.fuse.spent, fuel.fuse.last or "nothing", tostring(told):match "optional transformations[^\n]*")
EOF_LUA
run "$TBENCH" lua told.lua
spent=${out%%$'\t'*}
[ "$spent" -gt 1 ] && [[ $out == *nothing*"fuse $spent"* ]]
tap_result $? 'an explanation counts them'
run env TB_FUEL_FUSE=1 "$TBENCH" lua told.lua
[[ $out == 1$'\t'*' (v'*', line 2)'*'fuse 1 (the last that fuel.fuse allows: '* ]]
tap_result $? 'and names the last one of a limited fuel'
run env TB_FUEL_FUSE=1 TB_LOGS=kernels "$TBENCH" lua told.lua
[[ $err == *'optional transformations'*'fuse 1 (the last that fuel.fuse allows: '* ]]
tap_result $? 'so does the log of kernels'
fails 2 'fuel.fuse=-1: use a whole number of 0 or more, or unlimited' env TB_FUEL_FUSE=-1 "$TBENCH" lua told.lua
run env TB_FUEL_FUSE=unlimited "$TBENCH" lua told.lua
[ "$status" -eq 0 ] && [[ $out == "$spent"* ]]
tap_result $? 'unlimited is the word for no limit'

tap_end
