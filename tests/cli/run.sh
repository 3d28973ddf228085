#!/bin/bash
# What a whole run does: outcomes of workloads that crash, hang, fail or are wrong, each without harm to the others; the
# result's document; interrupts; dry runs. Times are not looked at.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

# Outcomes by the axis `how`, one case each. Who opens `never` to read waits, and takes no processor time.
mkfifo never
cat > outcomes.lua <<'EOF'
local tb = require "tbench"
local function pid() return tonumber(io.open("/proc/self/stat"):read("a"):match("%d+")) end
local fns = {
  good = function(x) return x + 1 end,
  raises = function(x) return x.no_such_field.other end,
  shapes = function(x) return x:matmul(x) end,
  leaves = function() os.exit(7) end,
  hangs = function() io.open("never") error("it ended") end,
  random = function(x) return x * (pid() * 7919 % 1009) end, -- another value in each process
}
return tb.suite {
  name = "outcomes", timeout = 15,
  axes = { how = { "good", "raises", "shapes", "leaves", "hangs", "random" } },
  workloads = { w = function(case) return { fn = fns[case.how], args = { tb.randn({2, 3}, case) } } end },
}
EOF

# outcome_is HOW OUTCOME TEXT: in result.json.
outcome_is() {
  local line
  line=$("$TBENCH" report result.json format=csv | tr -d '\r' | grep "how=$1[^a-z]")
  [[ $line == *",$2,"* && $line == *"$3"* ]]
  tap_result $? "how=$1 is $2 ($3)"
}

run "$TBENCH" run suite=./outcomes.lua quick=yes out=result.json
[ "$status" -eq 5 ]
tap_result $? 'a wrong result decides the exit code'
outcome_is good ok ''
outcome_is raises error 'no_such_field'
outcome_is shapes error 'matmul'
outcome_is leaves crashed 'exited early with status 7'
outcome_is hangs timeout 'no answer within 15 s'
outcome_is random wrong 'result[1]'
[[ $err == *'how=leaves'*': crashed: '* ]]
tap_result $? 'a failure is told when it happens'

run "$TBENCH" run suite=./outcomes.lua how=good,leaves quick=yes out=failed.json
[ "$status" -eq 4 ]
tap_result $? 'a crash exits with 4'

run "$TBENCH" run suite=./outcomes.lua how=good mode=reduce-overhead,max-autotune,max-autotune-no-cudagraphs quick=yes out=modes.json
[ "$status" -eq 0 ] && [ "$(grep -c '"outcome":.*"ok"' modes.json)" -eq 3 ]
tap_result $? 'every mode is a case of its own'

run "$TBENCH" run suite=./outcomes.lua how=good device=cuda quick=yes out=cuda.json
[ "$status" -eq 0 ] && grep -q '"outcome":.*"unsupported"' cuda.json
tap_result $? 'a device that is not built is unsupported'

# --- the same in dry ---
run "$TBENCH" run suite=./outcomes.lua how=good,raises dry-run=yes
[ "$status" -eq 0 ] && [ "$(wc -l <<< "$out")" -eq 2 ] && [[ $err == *'2 cases'* ]] && [ ! -e results ]
tap_result $? 'a dry run lists the cases and leaves nothing'

# --- how many replicates ---
# However fast the machine is, one replicate takes longer than that.
sed 's/return { fn = fns/if case.how == "good" then os.execute "sleep 0.5" end return { fn = fns/' outcomes.lua > slow.lua
run "$TBENCH" run suite=./slow.lua how=good,leaves budget=1 out=budget.json
[ "$status" -eq 4 ] && grep -q '"replicates_stop":.*"budget"' budget.json && [[ $err == *'2 cases, 5 to 12 replicates, about '* ]]
tap_result $? 'a budget ends a run after each case was measured once'
run "$TBENCH" run suite=./outcomes.lua how=good replicates_max=2 out=most.json
[ "$status" -eq 0 ] && grep -q '"replicates_stop":.*"\(most\|target\)"' most.json && grep -q '"interval_over":.*"replicates"' most.json
tap_result $? 'replicates_max= is where a case ends that does not come to its target'

# --- the default place of a result ---
run "$TBENCH" run suite=./outcomes.lua how=good quick=yes
[ "$status" -eq 0 ] && ls results/*_outcomes.json > /dev/null 2>&1
tap_result $? 'the result goes to results/<time>_<suite>.json'

for _ in 1 2 3 4; do "$TBENCH" run suite=./outcomes.lua how=good quick=yes > /dev/null 2>&1 & done
wait
[ "$(find results -name '*_outcomes*.json' | wc -l)" -eq 5 ]
tap_result $? 'runs of the same second have a file each'
{ "$TBENCH" run suite=./outcomes.lua how=good quick=yes out=unread.json < /dev/null; echo $? > status.text; } 2>&1 | true
[ -s unread.json ] && [ "$(cat status.text)" -eq 4 ]
tap_result $? 'a reader that went away does not end a run'

# --- a full disk, as a limit on the size of files says it ---
full_disk() { (trap '' XFSZ; ulimit -f 2; "$TBENCH" run suite=./outcomes.lua how=good quick=yes out="$1"); }
run full_disk full.json
[ "$status" -eq 4 ] && [[ $err == *'full.json was not written: File too large'* ]] && [[ $out == *'1 of 1 right'* ]] && [ ! -e full.json ] && [ -z "$(find . -name '*part')" ]
tap_result $? 'a full disk is told, exits with 4, and leaves no half of a file'

# --- arguments: as a function, changed in place, and kept ---
cat > arguments.lua <<'EOF'
local tb = require "tbench"
return tb.suite {
  name = "arguments",
  workloads = {
    generated = function(case)
      return { fn = function(x) return x * 2 end, args = function(i) return { tb.full({4}, i) } end }
    end,
    several = function(case)
      return { fn = function(x) return { sum = x:sum(), parts = { x + 1, x - 1 }, name = "s", flag = true, count = 3 }, x:argmax() end, args = { tb.randn({8}, case) } }
    end,
    own_check = function(case)
      return { fn = function(x) return x + 1 end, args = { tb.randn({4}, case) }, check = function() return false, "never right" end }
    end,
  },
}
EOF
run "$TBENCH" run suite=./arguments.lua workload=generated,several quick=yes out=arguments.json
[ "$status" -eq 0 ]
tap_result $? 'generated arguments and nested results are compared'
fails 5 'never right' "$TBENCH" run suite=./arguments.lua workload=own_check quick=yes out=own.json

# --- what a suite says of its work ---
cat > work.lua <<'EOF'
local tb = require "tbench"
return tb.suite {
  name = "work",
  workloads = {
    stated = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({64}, case) }, flops = 12345, bytes = 67890 } end,
    counted = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({64}, case) } } end,
  },
}
EOF
run "$TBENCH" run suite=./work.lua quick=yes verbose=yes logs=cache out=work.json
[ "$status" -eq 0 ] && [[ $out == *'(GB/s)'* && $out == *'(GFLOP/s)'* && $out == *'first call'* ]]
tap_result $? 'verbose shows how fast the work is done'
grep -A1 '"bytes":.*67890' work.json | grep -q '"bytes_from":.*"suite"' && grep -A1 '"flops":.*12345' work.json | grep -q '"flops_from":.*"suite"'
tap_result $? 'what the suite states is what counts'
grep -A1 '"bytes":.*512' work.json | grep -q '"bytes_from":.*"compiler"'
tap_result $? 'else what the compiler counts: 64 elements read and written'
[ "$(grep -c 'logs=' work.json)" -eq 1 ]
tap_result $? 'what is logged makes no other case: it stands in argv alone'

# --- interrupts ---
interrupted() {
  begin "$TBENCH" run suite=./outcomes.lua how=good replicates=500 out="$1"
  await "$pid" grep -q '\[[2-9]' err.text # one was measured
  kill -INT "$pid"
  end
}
interrupted interrupted.json
[ "$status" -eq 130 ] && grep -q '"interrupted":.*true' interrupted.json && grep -q '"outcome":.*"ok"' interrupted.json
tap_result $? 'Ctrl-C keeps what is measured and exits with 130'

sed "s|hangs = function() |&io.open('$PWD/hanging', 'w'):close() |" outcomes.lua > hanging.lua
begin "$TBENCH" run suite=./hanging.lua how=hangs timeout=300 out=twice.json
await "$pid" test -e hanging
end_hurried
[ "$status" -eq 130 ] && [ ! -e twice.json ]
tap_result $? 'a second Ctrl-C leaves at once'

# --- who compiles first is drawn anew in each replicate: the first follows other work than the rest ---
cat > order.lua <<'EOL'
local tb = require "tbench"
for _, name in ipairs { "one", "two" } do
  tb.register_backend(name, function(graph)
    local log = io.open("order.txt", "a")
    log:write(name, "\n")
    log:close()
    return graph.forward
  end)
end
return tb.suite { name = "order", workloads = { w = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({ 64 }, case) } } end } }
EOL
run "$TBENCH" run suite=./order.lua backend=one,two quick=yes counters=none replicates=6 out=order.json
# Of each replicate: cold and memory of both, disk of both, the twin.
[ "$status" -eq 0 ] && [ "$(wc -l < order.txt)" -eq 42 ] && [ "$(awk 'NR % 7 == 1' order.txt | sort -u | wc -l)" -eq 2 ] && [ "$(awk 'NR % 7 == 5' order.txt | sort -u | wc -l)" -eq 2 ]
tap_result $? 'no case is the first to compile in every replicate'

# --- nothing is left over ---
mkdir -p own-tmp
TMPDIR=$PWD/own-tmp run "$TBENCH" run suite=./outcomes.lua how=good,leaves quick=yes out=left.json
[ -z "$(ls -A own-tmp)" ]
tap_result $? 'private caches are removed'
tap_end
