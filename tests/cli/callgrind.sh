#!/bin/bash
# Instruction counts: by stage, by state, the same from run to run whatever the environment is, and null with a reason where they
# cannot be had; what counters= takes.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

cat > counted.lua <<'EOL'
local tb = require "tbench"
return tb.suite {
  name = "counted", axes = { batch = { 4 } },
  workloads = {
    chain = function(case)
      return { fn = function(x) return (x:matmul(x) * 2 + 1):sigmoid():sum(-1) end, args = { tb.randn({ case.batch, case.batch }, case) } }
    end,
  },
}
EOL

# --- what counters= takes ---
fails 2 "counters=papi:cash: there is no 'papi:cash'; did you mean 'papi:cache'" "$TBENCH" run suite=./counted.lua counters=papi:cash
fails 2 'none cannot be combined' "$TBENCH" run suite=./counted.lua counters=none,papi
sed 's/axes =/counters = "callgrin", axes =/' counted.lua > wrong.lua
fails 2 "wrong.lua: counters=callgrin: there is no 'callgrin'" "$TBENCH" run suite=./wrong.lua
run "$TBENCH" run suite=./counted.lua quick=yes counters=papi:basic out=basic.json
[ "$status" -eq 0 ] && grep -q '"page_faults"' basic.json && ! grep -q '"l2_misses"' basic.json && grep -q '"instructions":	null,' basic.json
tap_result $? 'a set of counters is counted, and no other'
run "$TBENCH" run suite=./counted.lua quick=yes counters=none out=none.json
[ "$status" -eq 0 ] && ! grep -q '"page_faults"' none.json
tap_result $? 'counters=none counts nothing'

run "$TBENCH" run suite=./counted.lua quick=yes counters=callgrind dry-run=yes
[ "$status" -eq 0 ] && [[ $err == *', and what counting under callgrind takes'* ]] && run "$TBENCH" run suite=./counted.lua quick=yes dry-run=yes && [[ $err != *callgrind* ]]
tap_result $? 'the time that is expected is told to be without callgrind, where it counts'

# --- without valgrind ---
mkdir -p empty
run env PATH="$PWD/empty" "$TBENCH" run suite=./counted.lua quick=yes counters=callgrind out=without.json
[ "$status" -eq 0 ] && grep -q '"cold":	null,' without.json && grep -q '"cold":	"unsupported: callgrind: ' without.json
tap_result $? 'without valgrind counts are null, with the reason, and the case is measured'

# --- with it ---
counts() { sed -n '/"instructions":	{/,/"why"/p' "$1" | grep -v '"value"'; }
can_count() { command -v valgrind > /dev/null && echo '#include <valgrind/callgrind.h>' | "${CC:-cc}" -E - > /dev/null 2>&1; }
if can_count && ! grep -qE "__(asan|tsan)_init" "$TBENCH"; then
  run "$TBENCH" run suite=./counted.lua quick=yes counters=callgrind out=first.json
  [ "$status" -eq 0 ] && [[ $err != *valgrind* && $err != *'=='* ]]
  tap_result $? 'counting does not change the outcome, and valgrind stays quiet'
  good=0
  for stage in capture decompose key lower schedule codegen load run store other; do counts first.json | grep -q "\"$stage\":	[0-9]" || good=1; done
  counts first.json | grep -q '"steady":	[0-9]' || good=1
  tap_result $good 'the cold call is told by stage, and steady calls are counted'
  mkdir -p "elsewhere, and deeper"
  run env TMPDIR="$PWD/elsewhere, and deeper" SOMETHING="$(printf '%0999d' 0)" "$TBENCH" run suite=./counted.lua quick=yes counters=callgrind out=second.json
  [ "$status" -eq 0 ] && [ -n "$(counts first.json)" ] && [ "$(counts first.json)" = "$(counts second.json)" ]
  tap_result $? 'counts are the same in another run, environment and folder'
else
  for name in 'counting does not change the outcome' 'the cold call is told by stage, and steady calls are counted' 'counts are the same in another run, environment and folder'; do
    tap_skip "$name" 'valgrind or its header is not here, or this is a build with a sanitizer'
  done
fi
tap_end
