#!/bin/bash
# tbench bisect: finds what was planted, to the number; says so where there is nothing; ends with a command that shows it again.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"
export TMPDIR=$PWD

cat > small.lua <<'EOF_LUA'
local tb = require "tbench"
return tb.suite {
  name = "small",
  axes = { batch = { 8, 16 }, dtype = { "f32" } },
  workloads = {
    chain = function(case)
      local function fn(x) -- whatever is added to a value on the way is seen in a result
        local a = x:exp() + x:sum(-1, true)
        return (a * x):sum(-1), (a:sigmoid() - x:mean(-1, true)):sum(1), (x * 2):relu() - a:sum(-1, true)
      end
      return { fn = fn, args = { tb.randn({ case.batch, 32 }, case) } }
    end,
    other = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({ case.batch, 4 }, case) } } end,
  },
}
EOF_LUA
one=(suite=./small.lua workload=chain batch=8)

# --- a wrong fusion ---
# The last one is found by a question of its own, not by what is known of head without a limit.
last=$("$TBENCH" explain "${one[@]}" | grep -o 'fuse [0-9]*' | tail -n 1)
last=${last#fuse }
[ "${last:-0}" -gt 3 ]
tap_result $? "there are fusions: $last"
for planted in 1 3 "$last"; do
  run "$TBENCH" bisect "${one[@]}" plant.fusion=$planted
  [ "$status" -eq 0 ] && [[ $out == *"fuse       #$planted of "*" (v"*"fuel.fuse=$((planted - 1)) is not wrong; fuel.fuse=$planted is: wrong: result["* ]]
  tap_result $? "fusion $planted is found"
  [[ $out == *'inductor is the first that is wrong, and not aot_eager; so the cause is lowering'* ]] && [[ $out == *'kernels    #'* ]]
  tap_result $? 'so are the stage and the kernel'
  command=$(sed -n 's/^reproduce: tbench //p' <<< "$out")
  [[ $out == *'ran it: exit code 5, wrong results' ]] && [ -n "$command" ]
  tap_result $? 'and a command that was run'
  eval "run '$TBENCH' $command out=again.json"
  [ "$status" -eq 5 ] && [[ $command == *fuel.fuse=$planted* ]]
  tap_result $? "it shows it again: $command"
  eval "run '$TBENCH' ${command/fuel.fuse=$planted/fuel.fuse=$((planted - 1))} out=again.json"
  [ "$status" -eq 0 ]
  tap_result $? 'one fusion less is right'
done

# --- which of several switches ---
run "$TBENCH" bisect "${one[@]}" base.stream_stores=off head.stream_stores=on head.llvm_level=2 head.plant.fusion=2 head.fuse_max_reads=20
[ "$status" -eq 0 ] && [ "$(grep -c '^  switch ' <<< "$out")" -eq 1 ] && [[ $out == *'switch     plant.fusion=2 (base: its default)'*'fuse       #2 of '* ]]
tap_result $? 'one of four switches is found'
[[ $(grep '^reproduce' <<< "$out") != *llvm_level* ]]
tap_result $? 'the others do not stand in the command'
run "$TBENCH" bisect "${one[@]}" plant.fusion=2 head.llvm_level=2
[ "$status" -eq 0 ] && [[ $out == *'base is no better'*'fuse       #2 of '* ]] && [[ $out != *'  switch '* ]]
tap_result $? 'what base has as well is no switch'

# --- what is wrong now and then ---
cat > flaky.lua <<'EOF_LUA'
local tb = require "tbench"
local function count() -- processes that have made the workload: the plain function's, the reference's, the compiled one's
  local f <close> = assert(io.open("processes", "a+"))
  f:write("x")
  f:flush()
  f:seek("set")
  return #f:read("a")
end
return tb.suite { name = "flaky", axes = { heads = { 2 } }, workloads = {
  w = function(case)
    local n = count()
    return { fn = function(x) return x + case.heads end, args = { tb.randn({ 4 }, case) }, check = function() return n ~= 3 end }
  end,
} }
EOF_LUA
run "$TBENCH" bisect suite=./flaky.lua
[ "$status" -eq 3 ] && [[ $out == *'head, in fresh processes'*right ]] && [[ $err == *'a fault that comes and goes cannot be found by halving'* ]] && [[ $out != *answer* ]]
tap_result $? 'nothing is concluded from a fault that comes and goes'
fails 2 'the case is right' "$TBENCH" bisect suite=./flaky.lua heads=3
tap_result $? 'an axis that begins as a side does is none'

# --- the plain function is wrong: nothing that is compiled is to blame ---
cat > plain.lua <<'EOF_LUA'
local tb = require "tbench"
local function workload(fn, check) return function(case) return { fn = fn, args = { tb.randn({ case.batch, 32 }, case) }, check = check } end end
return tb.suite { name = "plain", axes = { batch = { 8 }, dtype = { "f32" } }, workloads = {
  check = workload(function(x) return x * 2 end, function() return false, "never good" end),
  off = workload(tb.disable(function(x) return x * math.random() end)), -- another one in each process
} }
EOF_LUA
fails 4 'the plain function is wrong, before anything is compiled: ' "$TBENCH" bisect suite=./plain.lua workload=check
[[ $err == *'never good'*'fix the suite'* ]] && [[ $out != *answer* ]]
tap_result $? 'its check is named, and no backend'
fails 4 'the plain function is wrong, before anything is compiled: ' "$TBENCH" bisect suite=./plain.lua workload=off head.fuse=off
[[ $err == *'max|baseline - f64|'*'fix the suite'* ]] && [[ $out != *answer* ]]
tap_result $? 'nor for one that is off'

# --- the command is one that a shell takes ---
cp small.lua "it's \$mall.lua"
run "$TBENCH" bisect suite="./it's \$mall.lua" workload=chain batch=8 plant.fusion=1
command=$(sed -n 's/^reproduce: tbench //p' <<< "$out")
[ "$status" -eq 0 ] && [[ $out == *'ran it: exit code 5'* ]]
tap_result $? 'a suite of an odd name'
eval "run '$TBENCH' $command out=again.json"
[ "$status" -eq 5 ]
tap_result $? "its command: $command"

# --- two causes ---
# The second costs far less than half of the first, whatever a processor makes of 4 million instructions; and is far more than the call itself.
run "$TBENCH" bisect "${one[@]}" head.spin_ns=20000000 head.spin_instructions=4000000 seconds=20
[ "$status" -eq 0 ] && [ "$(grep -c '^  switch ' <<< "$out")" -eq 1 ] && [[ $out == *'and        head without that is slower than base too: there is another cause'* ]]
tap_result $? 'of two causes one is found, and the other is told of, be it much smaller'

# --- two that hide each other ---
# Where each instruction is a break, nothing is left to compile, and nothing spins. The spin is found first, since it costs far more than all of head.
run "$TBENCH" bisect "${one[@]}" head.spin_ns=20000000 head.break_every=1 seconds=20
[[ $out == *'the finding does not explain it'*answer*'switch     break_every=1'*'these causes hide each other'*'not        spin_ns=20000000: '*'does not explain head'* ]]
tap_result $? 'what leaves head as slow is no answer, and the rest is searched'
[ "$(grep -c '^  switch ' <<< "$out")" -eq 1 ] && [[ $(grep '^reproduce' <<< "$out") == *head.break_every=1* && $(grep '^reproduce' <<< "$out") != *spin_ns* ]]
tap_result $? 'nor is it in the command'

# --- a slow one: nothing but its switch tells ---
run "$TBENCH" bisect "${one[@]}" head.spin_ns=5000000 head.llvm_level=2 seconds=20
[ "$status" -eq 0 ] && [[ $out == *'slower than base'*'switch     spin_ns=5000000 (base: its default)'*'also without any optional transformation'* ]]
tap_result $? 'a switch that makes it slow is found'
[ "$(grep -c '^  switch ' <<< "$out")" -eq 1 ] && [[ $out == *'reproduce: tbench ab '*'head.spin_ns=5000000'*'ran it: exit code 1, a regression' ]]
tap_result $? 'and its command is one of tbench ab'

# --- what costs a fixed time, and what limits make slow on both sides ---
cat > chain.lua <<'EOF_LUA'
local tb = require "tbench"
return tb.suite { name = "chain", axes = { batch = { 64 }, dtype = { "f32" } }, workloads = {
  many = function(case) -- several times as dear unfused: half of what head is slower by is a small share of that
    return { fn = function(x) for i = 1, 12 do x = x * 1.01 + 0.5 end return x end, args = { tb.randn({ case.batch, 64 }, case) } }
  end,
} }
EOF_LUA
run "$TBENCH" bisect suite=./chain.lua threads=1 base.spin_ns=0 head.spin_ns=20000 seconds=20
[ "$status" -eq 0 ] && [[ $out == *'switch     spin_ns=20000'*'also without any optional transformation'* ]] && [[ $out != *' #'* ]]
tap_result $? 'no transformation is named for what none of them costs'

# --- a backend of the suite ---
cat > own.lua <<'EOF_LUA'
local tb = require "tbench"
tb.register_backend("off", function(graph) return function(...) return graph.forward(...) * 1.01 end end)
return tb.suite { name = "own", axes = { batch = { 8 }, dtype = { "f32" } }, workloads = {
  w = function(case) return { fn = function(x) return (x:sin() + x):sum(-1) end, args = { tb.randn({ case.batch, 64 }, case) } } end,
} }
EOF_LUA
run "$TBENCH" bisect suite=./own.lua backend=off
[ "$status" -eq 0 ] && [[ $out == *'backend=inductor '*right*'backend    off alone is wrong; so the cause is that backend itself'*'ran it: exit code 5'* ]] && [[ $out != *fuel* ]]
tap_result $? 'a registered backend is found, and the compiler is not blamed for it'

# --- what it does not take ---
fails 2 'it takes one case, and these are 4' "$TBENCH" bisect suite=./small.lua
[[ $err == *'small/chain/inductor/default/cpu/f32/b8'* ]]
tap_result $? 'it lists them'
fails 2 'the case is right; say what to compare it with' "$TBENCH" bisect "${one[@]}"
fails 2 'is not a switch of the compiler' "$TBENCH" bisect "${one[@]}" head.fuel.fus=3
fails 2 'pairs=2: use a whole number' "$TBENCH" bisect "${one[@]}" head.fuse=off pairs=2
mkdir -p peers
: > peers/some_adapter.py
fails 2 'backend=peer:some is a peer; only' env TBENCH_SUITES="$PWD" "$TBENCH" bisect "${one[@]}" head.backend=peer:some
fails 2 "it takes no 'format'" "$TBENCH" bisect "${one[@]}" format=json

# --- Ctrl-C ---
begin "$TBENCH" bisect "${one[@]}" head.spin_ns=5000000 seconds=60
await "$pid" grep -q '^  1 ' out.text
kill -INT "$pid"
end
[ "$status" -eq 130 ]
tap_result $? 'Ctrl-C ends it with its code'
[ -z "$(find . -maxdepth 1 -name 'tbench*' -print -quit)" ]
tap_result $? 'and nothing is left behind'

tap_end
