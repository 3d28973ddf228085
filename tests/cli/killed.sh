#!/bin/bash
# A run that is killed leaves what it has measured, and every reader takes it.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

cat > cases.lua <<'EOL'
local tb = require "tbench"
return tb.suite {
  name = "cases", axes = { batch = { 1, 2, 3, 4, 5, 6, 7, 8 } },
  workloads = { w = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({case.batch, 4}, case) } } end },
}
EOL
mkdir -p own-tmp

# is_there PATTERN: a file that it stands for has something.
# shellcheck disable=SC2086
is_there() { [ -s $1 ]; }
# killed FILE ARGUMENTS…: SIGKILL as soon as the file is there.
killed() {
  local file=$1
  shift
  begin env TMPDIR="$PWD/own-tmp" "$TBENCH" run suite=./cases.lua replicates=200 "$@"
  await "$pid" is_there "$file"
  kill -KILL "$pid"
  end
}
killed killed.json out=killed.json
[ "$status" -eq 137 ] && [ -s killed.json ]
tap_result $? 'SIGKILL leaves a result'
grep -q '"finished":.*null' killed.json && grep -q '"interrupted":.*false' killed.json && grep -q '"planned":.*8' killed.json
tap_result $? 'which says that it is not finished'
measured=$(grep -c '"outcome":.*"ok"' killed.json)
[ "$measured" -ge 1 ] && [ "$(grep -c '"outcome":' killed.json)" -eq "$measured" ]
tap_result $? "and has the cases that were measured ($measured), no others"
run "$TBENCH" report killed.json
[ "$status" -eq 0 ] && [[ $out == *"$measured of 8 right"* && $out == *'note: the run did not end'* ]]
tap_result $? 'report shows it and says so'
run "$TBENCH" report killed.json format=csv
[ "$status" -eq 0 ] && [ "$(wc -l <<< "$out")" -eq $((measured + 1)) ]
tap_result $? 'so does CSV'
if command -v gnuplot > /dev/null; then
  run "$TBENCH" plot killed.json
  [ "$status" -eq 0 ] && [ -s killed.svg ]
  tap_result $? 'plot draws it'
fi
if command -v python3 > /dev/null; then
  python3 -c 'import json, sys
for c in json.load(open("killed.json"))["cases"]:
  assert c["speedup"]["ratio"] > 0 and c["steady"]["replicates"], c["id"]'
  tap_result $? 'its figures are summed up'
fi

# The name that was made from the time is taken once, by a whole file.
killed 'results/*.json'
[ "$(find results -type f ! -name '.*' | wc -l)" -eq 1 ] && grep -q '"finished":.*null' results/*.json
tap_result $? 'the same without out='

# A finished run replaces it.
run "$TBENCH" run suite=./cases.lua batch=1,2 quick=yes out=killed.json
[ "$status" -eq 0 ] && grep -q '"finished":.*"20' killed.json && [[ $out == *'2 of 2 right'* && $out != *'did not end'* ]]
tap_result $? 'a finished run replaces it'

# --- nothing can be saved on the way: told once, and measured on ---
full_disk() { (trap '' XFSZ; ulimit -f 2; TMPDIR=$PWD/own-tmp "$TBENCH" run suite=./cases.lua batch=1,2 quick=yes out=full.json); }
run full_disk
[ "$status" -eq 4 ] && [ "$(grep -c 'the unfinished result cannot be saved' err.text)" -eq 1 ] && [[ $out == *'2 of 2 right'* ]] && [ ! -e full.json ]
tap_result $? 'a full disk is told once, and the run goes on'

# --- a second Ctrl-C ---
cat > last_hangs.lua <<'EOL'
local tb = require "tbench"
return tb.suite {
  name = "last_hangs", timeout = 3600, axes = { batch = { 1, 2 } },
  workloads = { w = function(case)
    if io.open("twice.json") then -- the other one is saved
      io.open("hangs", "w"):close()
      while true do end
    end
    return { fn = function(x) return x + 1 end, args = { tb.randn({case.batch, 4}, case) } }
  end },
}
EOL
begin "$TBENCH" run suite=./last_hangs.lua replicates=1 out=twice.json
await "$pid" test -e hangs
end_hurried
[ "$status" -eq 130 ] && [[ $err == *'the unfinished result is in twice.json'* ]] && [ "$(grep -c '"outcome":.*"ok"' twice.json)" -eq 1 ]
tap_result $? 'a second Ctrl-C leaves what was saved, and says where'
tap_end
