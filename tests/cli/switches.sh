#!/bin/bash
# The switches of compile time (opt.*): each off, and all off, gives the artifacts, the guards and the results of all on.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

cat > models.lua <<'EOF_LUA'
local tb = require "tbench"

local function checksum(value)
  if type(value) == "table" then
    local keys, parts = {}, {}
    for k in pairs(value) do keys[#keys + 1] = tostring(k) end
    table.sort(keys)
    for i, k in ipairs(keys) do parts[i] = k .. "=" .. checksum(value[k] or value[tonumber(k)]) end
    return "{" .. table.concat(parts, " ") .. "}"
  elseif not tb.is_tensor(value) then
    return tostring(value)
  end
  local flat = value:double():reshape(-1)
  return ("%s %a"):format(table.concat(value.shape, "x"), (flat * (tb.arange(flat:size(1), { dtype = "f64" }) % 97 + 1)):sum():item())
end

local function show(name, calls, f, options)
  tb.manual_seed(7)
  local compiled = tb.compile(f, options)
  for i, args in ipairs(calls) do
    print(name, i, checksum { compiled(table.unpack(args)) }, checksum { f(table.unpack(args)) })
    local stats = tb.stats(compiled)
    print(name, i, stats.artifact, stats.graphs, stats.kernels, stats.library_calls, stats.guards, stats.recompiles, #stats.breaks, stats.eager)
  end
  for _, piece in ipairs(tb.explain(f, options)(table.unpack(calls[1])).pieces) do
    for _, entry in ipairs(piece.entries) do
      print(name, piece.kind, entry.artifact, entry.graph, table.concat(entry.guards, "; "), entry.open, entry.returns or entry.hands_on)
    end
  end
end

-- tb.nn is first asked for by code that is being captured.
show("late", { { tb.randn { 4, 8 } } }, function(x) return tb.nn.functional.gelu(x) * 2 end)
local nn, F = tb.nn, tb.nn.functional

local mlp = nn.Sequential { nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.GELU(), nn.Linear(32, 8) }
show("mlp", { { tb.randn { 4, 16 } } }, function(x) return mlp(x) end)

local q, k, v = tb.randn { 2, 4, 16, 8 }, tb.randn { 2, 4, 16, 8 }, tb.randn { 2, 4, 16, 8 }
show("attention", { { q, k, v } }, function(a, b, c) return F.scaled_dot_product_attention(a, b, c, { is_causal = true }) end)

local norm1, norm2, heads = nn.LayerNorm(32), nn.LayerNorm(32), nn.MultiheadAttention(32, 4)
local wide = nn.Sequential { nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32) }
show("block", { { tb.randn { 2, 8, 32 } } }, function(x)
  local y = x + heads(norm1(x))
  return y + wide(norm2(y))
end)

local sizes = {}
for i, n in ipairs { 3, 5, 9, 9, 2 } do sizes[i] = { tb.randn { n, 16 }, n } end
show("dynamic", sizes, function(x, n)
  local rows = x:size(1)
  return x:view(rows * 4, 4):softmax(-1):view(rows, 16):transpose(1, 2):contiguous() * (1 / rows) + n, mlp(x)
end)
show("open", sizes, function(x) return x:reshape(x:size(1) * 2, 8):flip(1):narrow(1, 1, 2):sum(), x:size(1) // 2 end, { dynamic = true })

local log, state = {}, { count = 0 }
local hidden = tb.disable(function() log[#log + 1] = #log end)
show("breaks", { { tb.randn { 8 }, { 1, 2 } } }, function(x, list)
  state.count = state.count + 1
  list[#list + 1] = x + 1
  local y = x * state.count
  hidden()
  state.last, y = y, y:sin()
  for i = 1, 3 do
    list[i] = list[i] and list[i] * 2
    hidden()
  end
  if y:sum():item() > 1e30 then return -y end
  return y:cos() + #list, { y = y, n = state.count }
end)

show("rewrites", { { tb.randn { 8 }, tb.arange(8), tb.arange(8):gt(2) } }, function(x, n, b)
  return -(-x) * 1 - 0, (n + 0) // 1, tb.logical_not(tb.logical_not(b)), tb.logical_and(b, b), tb.where(b, x, x) / 1
end)
EOF_LUA

# The program's own names: a switch that is added is tested.
switches=$("$TBENCH" help switches | grep -o '^ *opt\.[a-z_]*' | tr -d ' ')
[ "$(wc -w <<< "$switches")" -eq 12 ]
tap_result $? 'there are twelve switches of compile time'

export TB_CACHE=off TB_VERIFY=on
expected=$("$TBENCH" lua models.lua 2>&1)
status=$?
[ $status -eq 0 ] && [[ $expected == *late*mlp*attention*block*dynamic*open*breaks*rewrites* ]]
tap_result $? 'models compile and run' || printf '%s\n' "$expected" | sed 's/^/# /'

compare() { # what, and settings of the environment
  local what=$1 got
  shift
  got=$(env "$@" "$TBENCH" lua models.lua 2>&1)
  [ "$got" = "$expected" ]
  tap_result $? "$what: the same artifacts, guards and results" || diff <(printf '%s\n' "$expected") <(printf '%s\n' "$got") | head -20 | sed 's/^/# /'
}

all=()
for name in $switches; do
  variable=TB_$(tr 'a-z.' 'A-Z_' <<< "$name")
  all+=("$variable=off")
  compare "$name off" "$variable=off"
done
compare 'all off' "${all[@]}"

# --- what a cache on disk holds for one side, it holds for the other; the text of opt.lazy_dump is a key of its own ---
unset TB_CACHE
export TB_CACHE_DIR=$PWD/cache
cat > answer.lua <<'EOF_LUA'
local tb = require "tbench"
local f = tb.compile(function(x) return (x * 2):sum(1) end)
f(tb.randn { 4, 8 })
print(tb.stats(f).cache)
EOF_LUA
run "$TBENCH" lua answer.lua
[ "$out" = miss ]
tap_result $? 'a first compile misses'
run env TB_OPT_KEY_CACHE=off TB_OPT_FUSED_PASSES=off TB_OPT_INPLACE_DCE=off TB_OPT_SIMPLIFY_CACHE=off "$TBENCH" lua answer.lua
[ "$out" = disk ]
tap_result $? 'its artifact serves where switches are off'
run env TB_OPT_LAZY_DUMP=off "$TBENCH" lua answer.lua
[ "$out" = miss ] && run env TB_OPT_LAZY_DUMP=off "$TBENCH" lua answer.lua && [ "$out" = disk ]
tap_result $? 'a key of text finds what was stored under it'

# --- a switch that is set, wherever, wins over the mode ---
cat > modes.lua <<'EOF_LUA'
local tb = require "tbench"
local out = {}
for _, mode in ipairs { "default", "reduce-overhead", "max-autotune" } do
  local f = tb.compile(function(x) return x:matmul(x) end, { mode = mode })
  f(tb.ones(6, 6))
  out[#out + 1] = tb.stats(f).library_calls .. "/" .. tb.counters().searches
end
print(table.concat(out, " "))
EOF_LUA
run env TB_CACHE=off "$TBENCH" lua modes.lua
[[ $out == '1/0 1/0 '[01]/1 ]]
tap_result $? 'a mode says how products are computed'
run env TB_CACHE=off TB_MATMUL=tile_8x1 "$TBENCH" lua modes.lua
[ "$out" = '0/0 0/0 0/0' ]
tap_result $? 'what the environment says of it wins'
shared() { find shared -name '*.tbc' 2> /dev/null | wc -l; }
for try in $(seq 50); do # a search that does not believe its times, on a disturbed machine, leaves nothing
  run env TB_SHARE_CHOICES=on TB_CACHE_DIR="$PWD/own$try" XDG_CACHE_HOME="$PWD/shared" "$TBENCH" lua modes.lua
  [ "$(shared)" -eq 0 ] || break
done
run env TB_SHARE_CHOICES=on TB_CACHE_DIR="$PWD/last" XDG_CACHE_HOME="$PWD/shared" "$TBENCH" lua modes.lua
[[ $out == '1/0 1/0 '[01]/1 ]] && [ "$(shared)" -eq 1 ]
tap_result $? 'processes with caches of their own search each, and share what was chosen'
cat > products.lua <<'EOF_LUA'
local tb = require "tbench"
return tb.suite { name = "products", workloads = { w = function(case) return { fn = function(x) return x:matmul(x) end, args = { tb.ones(6, 6) } } end } }
EOF_LUA
run "$TBENCH" run suite=./products.lua mode=max-autotune matmul=library,tile_8x1 quick=yes out=products.json
[ "$status" -eq 0 ] && [ "$(tr -d ' \t\n' < products.json | grep -o '"kernels":[0-9]*,"ops":[0-9]*,"library_calls":[0-9]*' | tr '\n' ' ')" = '"kernels":0,"ops":1,"library_calls":1 "kernels":1,"ops":1,"library_calls":0 ' ]
tap_result $? 'cases differ as their names say' || tr -d ' \t\n' < products.json | grep -o '"kernels":[0-9]*,"ops":[0-9]*,"library_calls":[0-9]*' | sed 's/^/# /'

tap_end
