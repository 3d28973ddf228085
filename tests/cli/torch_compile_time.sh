#!/bin/bash
# The suite of PyTorch's compile-time benchmarks: every workload is right or listed as unsupported with its reason, and the counts stand
# beside the published ones.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

suite=torch_compile_time
unsupported='aotdispatcher_training partitioner_1 partitioner_2 runtime_overhead_backward runtime_overhead_requires_grad'
for form in static dynamic; do
  run "$TBENCH" run suite=$suite form=$form counters=none quick=yes out=$form.json
  [ "$status" -eq 0 ]
  tap_result $? "form=$form: no workload is wrong, or fails"
  found=$(grep -o '"error":.*it needs gradients' $form.json | wc -l)
  [ "$found" -eq "$(wc -w <<< "$unsupported")" ]
  tap_result $? "form=$form: what needs gradients is listed, with that reason ($found)"
done
together=$(tr -d ' \t\n' < static.json)
[ "$(grep -o '"cold":{"misses":1,"disk_hits":0,"memory_hits":3}' <<< "$together" | wc -l)" -eq 1 ]
tap_result $? 'blocks that are compiled by themselves and are equal are compiled once: one miss, and three hits'
[ "$(grep -o '"cold":{"misses":8,"disk_hits":0,"memory_hits":0}' <<< "$together" | wc -l)" -eq 1 ]
tap_result $? 'eight calls with eight fixed numbers are eight compiles'
cat > parts.lua << 'END'
local tb = require "tbench"
local function both() return { fn = print, parts = print } end
local function nothing() return { parts = function() return function(x) return x end end, args = { tb.ones(2) } } end
local function later(compile)
  local f = compile(function(x) return x + 1 end)
  return function(x) return compile(function(y) return y + 1 end)(f(x)) end
end
local function late() return { parts = later, args = { tb.ones(2) } } end
return tb.suite { name = "parts", workloads = { both = both, nothing = nothing, late = late } }
END
run "$TBENCH" run suite=./parts.lua quick=yes out=parts.json
[ "$status" -eq 4 ] && grep -q 'fn and parts: expected one of them' parts.json && grep -q 'parts: nothing was compiled' parts.json &&
  grep -q 'parts are compiled while the workload is made' parts.json
tap_result $? 'parts that cannot be are told'
run "$TBENCH" report static.json format=peers_counts
rows=$(grep -c ' static ' <<< "$out")
[ "$status" -eq 0 ] && [ "$rows" -eq "$("$TBENCH" run suite=$suite form=static dry-run=yes 2> /dev/null | wc -l)" ] && [[ $out == *'0 of 0 compared'* ]]
tap_result $? "the table has a row a case, counted or not ($rows)"
good=0
for name in $unsupported; do grep -qE "^$name +static +inductor +(cold|call) +unsupported" <<< "$out" || good=1; done
grep -qE '^mm_loop +static +inductor +cold +not counted +4633\.00 +no count' <<< "$out" || good=1
tap_result $good 'and says why a count is not there'

if command -v valgrind > /dev/null && ! grep -qE '__(asan|tsan)_init' "$TBENCH"; then
  run "$TBENCH" run suite=$suite form=static workload=list_of_linears backend=eager quick=yes out=counted.json
  [ "$status" -eq 0 ]
  tap_result $? 'instructions are what the suite counts by itself'
  run "$TBENCH" report counted.json format=peers_counts
  grep -qE '^list_of_linears +static +eager +cold +[0-9.]+ +941\.70 +[0-9.]+%  (reached|missed)' <<< "$out"
  tap_result $? 'a count stands beside the published one, with its ratio'
else
  tap_skip 'instructions are what the suite counts, beside the published ones' 'valgrind is not here, or this is a build with a sanitizer'
fi
tap_end
