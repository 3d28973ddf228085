#!/bin/bash
# Push to an endpoint that misbehaves: nothing is lost, nothing is stored twice, and what is told is right (push_token.sh: whom it
# speaks to).
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"
# shellcheck source=tests/cli/push_setup.sh
. "$srcdir/tests/cli/push_setup.sh"

# --- the way that it should go ---
reset good
TBENCH_TOKEN=$token run push r1.json r2.json to="$to"
[ "$status" -eq 0 ] && [ "$out" = '2 sent, 0 known already, 0 spooled, 0 refused' ] && [ -z "$err" ] && [ "$(stored)" -eq 2 ] && [ "$(entries)" -eq 0 ]
tap_result $? 'two results arrive, and nothing is left'
grep -q "^Authorization: Bearer $token" e/headers && grep -q '^Content-Encoding: gzip' e/headers && grep -q '^Content-Type: application/json' e/headers && grep -q 'POST /api/v1/results$' e/log
tap_result $? 'with the token, compressed, at the right path'
python3 - <<'EOL'
import json, os
stored = {json.dumps(json.load(open("e/store/" + f)), sort_keys=True) for f in os.listdir("e/store")}
assert stored == {json.dumps(json.load(open(f)), sort_keys=True) for f in ("r1.json", "r2.json")}
EOL
tap_result $? 'as they are in the files'
run push r1.json to="$to/"
[ "$status" -eq 0 ] && [[ $out == '0 sent, 1 known already, 0 spooled, 0 refused' ]] && [ "$(stored)" -eq 2 ]
tap_result $? 'a second time it is known'
! grep -q Authorization e/headers
tap_result $? 'without a token none is sent'
(umask 077; echo "$token" > token)
run push r3.json to="$to" token_file=token compress=no
[ "$status" -eq 0 ] && grep -q "Bearer $token" e/headers && ! grep -q Content-Encoding e/headers
tap_result $? 'a token from a file; uncompressed'

# --- wrong use: told before anything is done ---
reset good
chmod 644 token
fails 4 'others may read it (chmod 600 token)' push r1.json to="$to" token_file=token
fails 4 'token_file=none: No such file' push r1.json to="$to" token_file=none
chmod 600 token
printf 'two words\n' > badtoken; chmod 600 badtoken
fails 2 'token_file=badtoken has a blank' push r1.json to="$to" token_file=badtoken
[[ $err != *'two words'* ]]
tap_result $? 'the message does not show it'
fails 2 'name the endpoint: to=URL' push r1.json
fails 2 'name result files' push
fails 2 'takes no files' push spooled=yes r1.json
fails 2 'belongs to spooled=yes' push refused=yes r1.json to="$to"
fails 2 'no user or password belongs there' push r1.json to=http://me:pass@127.0.0.1:1
[[ $err != *pass@* ]]
tap_result $? 'nor does it show what was given'
for wrong in ftp://host host http:// 'http://host:99999' 'http://ho st' 'http://host\evil' 'http://host/#x' 'http://[::1'; do fails 2 'the URL' push r1.json to="$wrong"; done
fails 2 "did you mean 'influx'?" push r1.json to="$to" format=inflx
fails 2 'has no public endpoint' push r1.json to="$to" format=pytorch
fails 2 "to= has no 'bucket=|db='" push r1.json to="$to" format=influx
fails 2 'tries=0' push r1.json to="$to" tries=0
fails 2 'wait=-1' "$TBENCH" push r1.json to="$to" wait=-1
fails 2 'cacert=none cannot be read' push r1.json to="$to" cacert=none
fails 2 'No such file' push r1.json none.json to="$to"
TBENCH_TOKEN=$token fails 2 'the token would go unencrypted' push r1.json to=http://dashboard.example
[ "$(requests)" -eq 0 ] && { [ ! -e "$spool" ] || [ "$(entries)" -eq 0 ]; }
tap_result $? 'nothing was sent or spooled'

# --- down, and up again ---
reset good
run push r1.json r2.json to=http://127.0.0.1:1 tries=2
[ "$status" -eq 4 ] && [ "$(entries)" -eq 2 ] && [[ $out == '0 sent, 0 known already, 2 spooled, 0 refused'* && $out == *'tbench push spooled=yes'* ]]
tap_result $? 'an endpoint that is down: spooled, exit code 4'
[ "$(wc -l < err.text)" -eq 2 ] && [[ $err == *'r1.json: not sent: http://127.0.0.1:1: '*connect* && $err == *'1 more for the same reasons'* ]]
tap_result $? 'told once, with the reason'
grep -rq "^url: http://127.0.0.1:1/api/v1/results$" "$spool"
tap_result $? 'an entry says where it goes'
run push spooled=yes to="$to"
[ "$status" -eq 0 ] && [[ $out == '0 sent'* ]] && [ "$(entries)" -eq 2 ] && [ "$(requests)" -eq 0 ]
tap_result $? 'and goes nowhere else'
rm -f "$spool"/*.entry
kill "${servers[0]}"; wait "${servers[0]}" 2> /dev/null
TBENCH_TOKEN=$token run push r1.json r2.json r3.json to="$to" tries=1
[ "$status" -eq 4 ] && [ "$(entries)" -eq 3 ]
tap_result $? 'three documents wait'
! grep -rqF "$token" "$spool" && ! grep -qF "$token" out.text err.text && [ "$(stat -c %a "$spool")" = 700 ] && [ "$(find "$spool" -name '*.entry' -perm 600 | wc -l)" -eq 3 ]
tap_result $? 'the token is not in the spool, which others cannot read'
# The same port again: the entries go to the URL that they were meant for.
sed "s/(\"127.0.0.1\", 0)/(\"127.0.0.1\", $port)/" "$srcdir/tests/cli/push_server.py" > again.py
rm -f e/port
python3 again.py e > e/out 2>&1 < /dev/null &
servers+=($!)
for _ in $(seq 200); do [ -s e/port ] && break; sleep 0.05; done
TBENCH_TOKEN=$token run push spooled=yes
[ "$status" -eq 0 ] && [[ $out == '3 sent, 0 known already, 0 spooled, 0 refused' ]] && [ "$(entries)" -eq 0 ] && grep -q "Bearer $token" e/headers
tap_result $? 'spooled=yes sends them, with the token'
run push spooled=yes
[ "$status" -eq 0 ] && [[ $out == '0 sent, 0 known already, 0 spooled, 0 refused' ]]
tap_result $? 'and then there is nothing to send'

# --- answers ---
for mode in 500 503 429:0 cut-body cut-answer cut-head 500-stored slow:0.2 huge page; do
  reset "$mode good"
  run push r1.json to="$to"
  [ "$status" -eq 0 ] && [ "$(stored)" -eq 1 ] && [ "$(entries)" -eq 0 ] && [ -z "$err" ] && [[ $out == *' 0 spooled, 0 refused' ]]
  tap_result $? "$mode: it arrives all the same, once"
done
reset silent:20 good
run push r1.json to="$to" stall=1
[ "$status" -eq 0 ] && [ "$(stored)" -eq 1 ]
tap_result $? 'an endpoint that says nothing is given up, and asked again'
reset silent:20
run push r1.json to="$to" timeout=0.5 tries=1
[ "$status" -eq 4 ] && [[ $err == *'timed out'* ]] && [ "$(entries)" -eq 1 ]
tap_result $? 'one that never says anything: spooled'
reset headers
run push r1.json to="$to" tries=1
[ "$status" -eq 4 ] && [[ $err == *'headers are too long'* ]] && [ "$(entries)" -eq 1 ]
tap_result $? 'headers without end'
reset plain
run push r1.json to="$to" tries=1
[ "$status" -eq 0 ] && [ "$(requests)" -eq 2 ] && [ "$(stored)" -eq 1 ]
tap_result $? 'one that takes no gzip gets it as it is'
reset 429:3600
run push r1.json r2.json to="$to"
[ "$status" -eq 4 ] && [ "$(requests)" -eq 1 ] && [[ $err == *'a pause of 3600 s'* ]] && [ "$(entries)" -eq 2 ]
tap_result $? 'who asks for an hour is left alone'
reset page
run push r1.json to="$to" tries=2
[ "$status" -eq 4 ] && [[ $err == *'a web page answered (200)'* ]] && [ "$(entries)" -eq 1 ]
tap_result $? 'a log-in page is no acknowledgement'
for mode in 400 413 422; do
  reset "$mode"
  run push r1.json r2.json to="$to"
  [ "$status" -eq 4 ] && [ "$(requests)" -eq 2 ] && [[ $err == *"refused: $to: it answered $mode: told so"* && $out == *'0 spooled, 2 refused'* ]]
  tap_result $? "$mode: refused, not tried again"
  [ "$(entries)" -eq 0 ] && [ "$(refused entry)" -eq 2 ] && [ "$(refused reason)" -eq 2 ] && grep -rq 'told so' "$spool/refused"
  tap_result $? "$mode: they lie there with the reason"
done
echo good > e/mode
run push spooled=yes
[[ $out == '0 sent'* ]] && [ "$(refused entry)" -eq 2 ]
tap_result $? 'what is refused is not sent with the rest'
run push spooled=yes refused=yes
[ "$status" -eq 0 ] && [[ $out == '2 sent'* ]] && [ "$(refused entry)" -eq 0 ] && [ "$(refused reason)" -eq 0 ] && [ "$(stored)" -eq 2 ]
tap_result $? 'unless asked for'
reset 401
TBENCH_TOKEN=wrong-token run push r1.json r2.json r3.json to="$to"
[ "$status" -eq 4 ] && [ "$(requests)" -eq 1 ] && [[ $out == *'2 spooled, 1 refused'* ]]
tap_result $? 'a wrong token is shown once'
reset echo
TBENCH_TOKEN=$token run push r1.json to="$to"
[ "$status" -eq 4 ] && [[ $err == *'cases[0]:  [31mno id; Bearer ***'* ]] && ! grep -rqF "$token" err.text out.text "$spool"
tap_result $? 'an answer that tells the token is blotted, and cannot write to the terminal'

# --- formats ---
export CONBENCH_PROJECT_REPOSITORY=https://github.com/org/repo CONBENCH_PROJECT_COMMIT=0123456789012345678901234567890123456789
for row in 'victoriametrics POST /api/v1/import 204' 'influx POST /api/v2/write?bucket=b&precision=ns 204 ?bucket=b' 'influx POST /write?db=d&precision=ns 204 /write?db=d' \
  'prometheus PUT /metrics/job/tbench 200' 'bencher POST /v0/run?project=p 201 ?project=p' 'lnt POST /api/db_default/v4/nts/runs?merge=replace 301' \
  'conbench POST /api/benchmark-results/ 201'; do
  read -r format method path answer more <<< "$row"
  reset "$answer"
  TBENCH_TOKEN=$token run push r1.json to="$to$more" format="$format"
  [ "$status" -eq 0 ] && grep -qF " $method $path" e/log && grep -q "$token" e/headers && [ "$(entries)" -eq 0 ]
  tap_result $? "$format goes to $method $path"
  [[ $out == "$(requests) sent, 0 known already, 0 spooled, 0 refused" ]] && { [ "$(requests)" -eq 1 ] || [ "$format" = conbench ]; }
  tap_result $? "$format: $(requests) request(s)"
done
reset 400
run push r1.json to="$to?project=p" format=bencher branch=feature
python3 - "$spool" <<'EOL'
import glob, json, re, sys
body = open(glob.glob(sys.argv[1] + "/refused/*.entry")[0]).read().split("\n\n", 1)[1]
report = json.loads(body)
assert report["project"] == "p" and report["branch"] == "feature" and report["testbed"] == "h" and report["settings"] == {"adapter": "json"}
assert set(report) == {"project", "branch", "testbed", "settings", "start_time", "end_time", "results", "idempotency_key"}
assert re.fullmatch("[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", report["idempotency_key"])
assert report["start_time"] == "2026-01-02T03:04:05Z" and report["end_time"] == "2026-01-02T03:05:05Z"
assert len(report["results"]) == 1 and len(json.loads(report["results"][0])) == 20
EOL
tap_result $? "a Bencher report is the envelope of one document"
run push r1.json to="$to?project=p" format=bencher branch=feature
sed 's/03:05:05/03:05:06/' r1.json > later.json
run push later.json to="$to?project=p" format=bencher branch=feature
python3 - "$spool" <<'EOL'
import glob, json, sys
reports = [json.loads(open(path).read().split("\n\n", 1)[1]) for path in glob.glob(sys.argv[1] + "/refused/*.entry")]
keys = {(report["end_time"], report["idempotency_key"]) for report in reports}
assert len(keys) == len({key for _, key in keys}) == 2, keys
EOL
tap_result $? "and has the same key again, by which Bencher knows it, and another document another"
sed 's/"started": *"[^"]*"/"started": null/' r1.json > timeless.json
fails 2 'does not say when it was started' "$TBENCH" push timeless.json to="$to?project=p" format=bencher
env -u CONBENCH_PROJECT_REPOSITORY "$TBENCH" push r1.json to="$to" format=conbench > out.text 2> err.text
status=$? out=$(cat out.text) err=$(cat err.text)
[ "$status" -eq 2 ] && [[ $err == *'wants to know the repository'* ]]
tap_result $? 'what a format lacks is told'

# --- disks ---
reset good
cp r1.json whole.json
no_space() { (trap '' XFSZ; ulimit -f 1; exec "$TBENCH" push whole.json to="$to"); }
run no_space
[ "$status" -eq 4 ] && [[ $err == *'whole.json is not sent, and is as it was: '*'File too large'* ]] && cmp -s r1.json whole.json && [ "$(find "$spool" -type f | wc -l)" -eq 0 ] && [ "$(requests)" -eq 0 ]
tap_result $? 'a spool without room: a clear error, the file is as it was, nothing half-written'
if [ "$(id -u)" -eq 0 ] && mkdir -p small && mount -t tmpfs -o size=64k tmpfs small 2> /dev/null; then
  head -c 60000 /dev/zero > small/filled
  run push whole.json to="$to" spool=small/spool
  [ "$status" -eq 4 ] && [[ $err == *'No space left on device'* ]] && [ -z "$(find small/spool -type f)" ]
  tap_result $? 'the same on a disk that is full'
  rm small/filled
  run push whole.json to="$to" spool=small/spool
  [ "$status" -eq 0 ] && [ "$(stored)" -eq 1 ]
  tap_result $? 'and again, with room'
  umount small
fi
fails 4 'the spool /dev/null/x: Not a directory' push r1.json to="$to" spool=/dev/null/x

# --- Ctrl-C, several processes, kill -9 ---
reset silent:20
begin "$TBENCH" push r1.json r2.json to="$to"
for _ in $(seq 100); do [ "$(requests)" -gt 0 ] && break; sleep 0.05; done
kill -INT $pid
end
[ "$status" -eq 130 ] && [ "$(entries)" -eq 2 ] && [[ $out == *'2 spooled'* ]]
tap_result $? 'Ctrl-C ends it at once, and in order'

reset slow:0.05
pids=()
for i in 1 2 3 4; do push r1.json r2.json r3.json r4.json r5.json to="$to" > "many$i.text" 2>&1 & pids+=($!); done
codes=''
for pid in "${pids[@]}"; do wait "$pid"; codes+=$?; done
[ "$codes" = 0000 ] && [ "$(stored)" -eq 5 ] && [ "$(entries)" -eq 0 ]
tap_result $? 'four processes with the same files'
[ "$(awk '{print $1}' e/log | sort | uniq -c | awk '$1 > 4' | wc -l)" -eq 0 ]
tap_result $? 'none is sent more often than it is pushed'

# What ci/push-faults counts as twice, at an endpoint that knows no key: pushed twice, it is sent again although it was told to be stored.
reset 500-stored cut-answer good; rm -f e/again
sed 's/"median_ns": 1000/"median_ns": 999/' r1.json > faster.json # no body that was sent before
run push faster.json to="$to" format=victoriametrics
[ "$status" -eq 0 ] && [ "$(requests)" -eq 3 ] && [ "$(stored)" -eq 3 ] && [ ! -e e/again ]
tap_result $? 'what is sent again since its answer was lost is not counted'
run push faster.json to="$to" format=victoriametrics
[ "$status" -eq 0 ] && [ "$(stored)" -eq 4 ] && [ "$(wc -l < e/again)" -eq 1 ]
tap_result $? 'what is sent again after it was told to be stored is'

run bash "$srcdir/ci/push-faults" 20 tbench="$TBENCH" seed=1
[ "$status" -eq 0 ] && [[ $out == *'20 schedules'*'0 lost, 0 twice'* ]]
tap_result $? "kill -9 at random moments, beside a failing endpoint: $(tail -n 1 <<< "$out")"

# --- a run that pushes ---
reset good
cat > small.lua <<'EOL'
local tb = require "tbench"
return tb.suite { name = "small", workloads = { w = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({4}, case) } } end } }
EOL
TBENCH_TOKEN=$token run "$TBENCH" run suite=./small.lua quick=yes out=run.json push="$to"
[ "$status" -eq 0 ] && [ "$(stored)" -eq 1 ] && [[ $err == *'1 sent, '* ]] && grep -q "Bearer $token" e/headers && ! grep -q "$token" run.json
tap_result $? 'tbench run push=URL'
run push run.json to="$to"
[ "$status" -eq 0 ] && [[ $out == *'1 known already'* ]]
tap_result $? 'sends what push sends'
fails 2 'the URL' "$TBENCH" run suite=./small.lua quick=yes out=run2.json push=nowhere
run "$TBENCH" run suite=./small.lua quick=yes out=run3.json push=http://127.0.0.1:1
[ "$status" -eq 0 ] && [ "$(entries)" -eq 1 ] && [[ $err == *'1 spooled'* ]] && [ -s run3.json ]
tap_result $? 'an endpoint that is down does not fail a run: its result is kept, and told'

run "$TBENCH" help push
[[ $out == *'victoriametrics'* && $out == *'TBENCH_TOKEN'* && $out == *'there twice'* ]]
tap_result $? 'help tells of formats and token'
tap_end
