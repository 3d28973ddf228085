#!/bin/bash
# tbench compare, and tbench run changed-since=: two stored results case by case, what cannot be read, and cases that are not timed again.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

cat > tiny.lua <<'EOL'
local tb = require "tbench"
return tb.suite {
  name = "tiny", axes = { batch = { 1, 2, 3, 4 } },
  workloads = {
    w = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({ case.batch, 8 }, case) } } end,
  },
}
EOL
measure() { run "$TBENCH" run suite=./tiny.lua quick=yes counters=none "$@"; }
measure batch=1,2,3 out=old.json
[ "$status" -eq 0 ]
tap_result $? 'a result'

# --- what it takes ---
fails 2 'name two result files' "$TBENCH" compare old.json
fails 2 'none.json: No such file' "$TBENCH" compare old.json none.json
echo '{' > broken.json
fails 2 'broken.json: line' "$TBENCH" compare broken.json old.json
sed 's/"schema":	1/"schema":	99/' old.json > schema.json
fails 2 'was written by another version' "$TBENCH" compare old.json schema.json
fails 2 'format=csv: use one of console, json, markdown, html, junit' "$TBENCH" compare old.json old.json format=csv
echo 'threshhold = 1' > policy.lua
fails 2 "policy.lua:1: there is no field 'threshhold'; did you mean 'threshold'" "$TBENCH" compare old.json old.json policy=policy.lua

# --- what it finds: one replicate gives no interval, so nothing is decided ---
run "$TBENCH" compare old.json old.json out=same.json
[ "$status" -eq 3 ] && [[ $out == *UNSURE* && $out == *'fewer than 2 pairs were measured'* && $out == *'no case could be compared'* && $out == *'these are two runs: '* ]] && grep -q '"kind":	"comparison"' same.json
tap_result $? 'what was measured once is not decided, and does not pass'
fails 2 'same.json is a comparison of results' "$TBENCH" compare old.json same.json
echo 'required = false' > optional.lua
sed 's/"kernels":	1,/"kernels":	2,/' old.json > kernels.json
run "$TBENCH" compare old.json kernels.json policy=optional.lua
[ "$status" -eq 1 ] && [[ $out == *'kernels 1 -> 2 (+100%): worse'* ]]
tap_result $? 'a kernel more is a regression, whatever the times are'
sed '0,/"outcome":	"ok"/s//"outcome":	"wrong"/' old.json > wrong.json
run "$TBENCH" compare old.json wrong.json policy=optional.lua
[ "$status" -eq 5 ]
tap_result $? 'a wrong result exits with 5'
sed 's/"outcome":	"ok"/"outcome":	"crashed"/' old.json > crashed.json
run "$TBENCH" compare crashed.json crashed.json
[ "$status" -eq 4 ] && [ "$(grep -c '  crashed on both sides$' <<< "$out")" -eq 3 ] && [[ $out != *' both'$'\n'* ]]
tap_result $? 'what crashed on both sides says so, and exits with 4'
printf 'required = false\nthreshold["tinny/*"] = 0.5\nthreshold["tiny/*"] = 0.5\n' > slip.lua
run "$TBENCH" compare old.json old.json policy=slip.lua
[[ $out == *'the policy'\''s threshold["tinny/*"] in line 2 matches no case here'* && $out != *'in line 3'* ]]
tap_result $? 'a rule for no case is told'
measure batch=1,2 out=fewer.json
run "$TBENCH" compare old.json fewer.json
[ "$status" -eq 4 ] && [[ $out == *vanished* && $out == *"it is missing in head's result"* ]]
tap_result $? 'a case that vanished exits with 4'

# --- a file that does not agree with itself is not believed, by any verb ---
# contradicts TEXT SED…: the result with that change
contradicts() {
  local told=$1 verb
  shift
  sed "$@" old.json > two.json
  for verb in 'compare old.json two.json' 'compare two.json old.json' 'gate two.json against=old.json' 'gate old.json against=two.json' 'report two.json' 'plot two.json' 'push two.json to=http://127.0.0.1:9 spool=spool'; do
    read -ra verb <<< "$verb"
    TBENCH_TOKEN=tb_write_x run "$TBENCH" "${verb[@]}"
    [ "$status" -eq 2 ] && [[ $err == *'two.json contradicts itself: case tiny/w/'*"$told"* ]] || { echo "# ${verb[*]}: $status $err"; return 1; }
  done
}
contradicts 'steady.median_ns is 1e+12' '0,/"steady":/{/"steady":/{n;s/"median_ns":	[0-9.]*/"median_ns":	1e12/}}'
tap_result $? 'a time that is not that of its replicates'
contradicts 'graph.kernels is -1' 's/"kernels":	1,/"kernels":	-1,/'
tap_result $? 'fewer kernels than none'
contradicts 'correctness.ok' 's/"ok":	true/"ok":	false/'
tap_result $? 'right, with results that were not'
contradicts 'names none of the result' 's/"env":	0/"env":	5/'
tap_result $? 'an environment that is not there'
run "$TBENCH" report old.json
[ "$status" -eq 0 ]
tap_result $? 'the result itself is believed'

# --- changed-since= ---
fails 2 'changed-since: none.json: No such file' "$TBENCH" run suite=./tiny.lua changed-since=none.json
fails 2 'changed-since: same.json is a comparison' "$TBENCH" run suite=./tiny.lua changed-since=same.json
fails 2 'share=3: use a percentage' "$TBENCH" run suite=./tiny.lua changed-since=old.json share=3
measure changed-since=old.json out=new.json
[ "$status" -eq 0 ] && [[ $err == *'changed since old.json: 0 cases; new: 1; a sample of the 3 unchanged: 1; left out: 2 (drawn by seed=1 and its start, 2'* ]] && [[ $out == *'2 more cases were not timed'* ]]
tap_result $? 'a new case and a sample are timed, and it says so'
[ "$(grep -c '"selection":	"sample"' new.json)" -eq 1 ] && [ "$(grep -c '"selection":	"new"' new.json)" -eq 1 ] && grep -q '"planned":	2' new.json &&
  [ "$(sed -n '/"left_out"/,/\]/p' new.json | grep -c '"id"')" -eq 2 ]
tap_result $? 'the result says which and why'
run "$TBENCH" compare old.json new.json
[ "$status" -eq 3 ] && [ "$(grep -c "not timed: head has the same artifact as base" <<< "$out")" -eq 2 ] && [[ $out != *vanished* ]]
tap_result $? 'what was left out has not vanished, and is not compared'
samples=
for night in 01 02 02; do
  sed "s/\"started\":	\"[^\"]*\"/\"started\":	\"2026-01-${night}T00:00:00Z\"/" old.json > night.json
  measure changed-since=night.json batch=1,2,3 out=sample.json
  samples+="$(grep -B30 '"selection":	"sample"' sample.json | sed -n 's/.*"id":	".*\/\(b[0-9]\)\/.*/\1/p') "
done
[[ $samples =~ ^(b.)\ (b.)\ (b.)\ $ ]] && [ "${BASH_REMATCH[1]}" != "${BASH_REMATCH[2]}" ] && [ "${BASH_REMATCH[2]}" = "${BASH_REMATCH[3]}" ]
tap_result $? "since another night another sample is drawn, since the same one the same ($samples)"
measure changed-since=old.json share=99% seed=2 out=all.json
[ "$status" -eq 0 ] && [[ $err == *'left out: 0'* ]]
tap_result $? 'share= says how large the sample is'
measure changed-since=new.json batch=1,2,3,4 out=chained.json
[ "$status" -eq 0 ] && [[ $err == *'0 cases; new: 0; a sample of the 4 unchanged: 1; left out: 3'* ]]
tap_result $? 'what an earlier result left out itself it knows the artifact of'
sed 's/x + 1/x + 2/' tiny.lua > moved.lua && mv moved.lua tiny.lua
measure changed-since=old.json batch=1,2 out=changed.json
[ "$status" -eq 0 ] && [[ $err == *'old.json: 2 cases; new: 0; a sample of the 0 unchanged: 0; left out: 0'* ]]
tap_result $? 'what changed is timed'
sed 's/"artifact":	"[0-9a-f]*"/"artifact":	"0"/' changed.json > unlike.json
run "$TBENCH" compare unlike.json new.json policy=optional.lua
[ "$status" -ne 0 ] && [[ $out == *'which is not base'* || $out == *'artifact 0 -> '* ]]
tap_result $? 'against another base what was left out does not pass as unchanged'
tap_end
