#!/bin/bash
# No planned case is missing from a result, whatever happened: a crash, a time limit, a lost baseline, Ctrl-C.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

mkfifo never # who opens it to read waits, and takes no processor time
cat > cases.lua <<'EOF'
local tb = require "tbench"
local fns = {
  good = function(x) return x + 1 end,
  crashes = function() os.execute("kill -SEGV $PPID") return 1 end,
  leaves = function() os.exit(0) end,
  hangs = function() io.open("never") error("it ended") end,
  raises = function() error("no") end,
}
return tb.suite {
  name = "cases", axes = { batch = { 1, 2 }, how = { "good", "crashes", "leaves", "hangs", "raises" } }, devices = { "cpu", "cuda" },
  workloads = {
    w = function(case) return { fn = fns[case.how], args = { tb.randn({case.batch, 4}, case) } } end,
    broken = function(case) error("no workload") end,
  },
}
EOF

# Ids of all cases of a result, one a line.
recorded() { "$TBENCH" report "$1" format=csv | tr -d '\r' | tail -n +2 | cut -d, -f1 | LC_ALL=C sort; }
# complete FILE ARGUMENTS…: the cases of the result are those that a dry run plans.
complete() {
  local file=$1
  shift
  "$TBENCH" run suite=./cases.lua "$@" dry-run=yes 2> /dev/null | LC_ALL=C sort > planned.text
  recorded "$file" > recorded.text
  [ -s planned.text ] && cmp -s planned.text recorded.text && grep -q "\"planned\":.*$(wc -l < planned.text)" "$file"
}

run "$TBENCH" run suite=./cases.lua quick=yes timeout=10 out=all.json
[ "$status" -eq 4 ] && complete all.json
tap_result $? 'after crashes, time limits and errors every planned case is recorded'
for outcome in ok crashed timeout error unsupported; do
  grep -q "\"outcome\":.*\"$outcome\"" all.json
  tap_result $? "one of them is $outcome"
done

# interrupted FILE SIGNAL ARGUMENTS…: the signal comes when the second session has begun.
interrupted() {
  local file=$1 signal=$2
  shift 2
  begin "$TBENCH" run suite=./cases.lua "$@" out="$file"
  await "$pid" grep -q '^\[[2-9]' err.text
  kill -"$signal" "$pid"
  end
}
many=(workload=w how=good batch=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 device=cpu)
interrupted interrupted.json INT "${many[@]}"
[ "$status" -eq 130 ] && complete interrupted.json "${many[@]}"
tap_result $? 'after Ctrl-C every planned case is recorded'
measured=$(grep -c '"outcome":.*"ok"' interrupted.json) reached=$("$TBENCH" report interrupted.json format=csv | grep -c 'interrupted before it was measured.*yes')
[ "$measured" -ge 1 ] && [ $((measured + reached)) -eq 16 ]
tap_result $? "what was measured is kept ($measured), the rest says why it was not ($reached)"
[[ $out == *", $reached not measured (interrupted)"* && $out != *'before it was measured'* ]]
tap_result $? 'the table has what was measured, and counts the rest'
[ "$(grep -c '^ *[0-9][0-9]*  default' <<< "$out")" -eq "$measured" ]
tap_result $? 'a row for each case that was measured'

mixed=(workload=w how=good,raises batch=1,2,3,4,5,6,7,8 device=cpu)
interrupted term.json TERM "${mixed[@]}"
[ "$status" -eq 130 ] && complete term.json "${mixed[@]}"
tap_result $? 'the same at SIGTERM, with cases that failed before'
tap_end
