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
# key FILE: as whoever sends the file itself makes it. arrived FILE…: each is stored under that key, byte for byte, and nothing else is.
key() { sha256sum < "$1" | cut -d' ' -f1; }
arrived() {
  local file
  [ "$(stored)" -eq $# ] || return 1
  for file; do cmp -s "$file" "e/store/$(key "$file")" || return 1; done
}
arrived r1.json r2.json
tap_result $? 'byte for byte as the files are, under the key of their bytes'
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
mkfifo -m 600 pipe
run timeout 60 "$TBENCH" push r1.json to="$to" token_file=pipe
[ "$status" -eq 4 ] && [[ $err == *'token_file=pipe is not a file'* ]]
tap_result $? 'a pipe that nobody writes to is not waited for'
chmod 600 token
printf 'two words\n' > badtoken; chmod 600 badtoken
fails 2 'token_file=badtoken has a blank' push r1.json to="$to" token_file=badtoken
[[ $err != *'two words'* ]]
tap_result $? 'the message does not show it'
fails 2 'name the endpoint: to=URL' push r1.json
fails 2 'name result files' push
fails 2 'takes no files' push spooled=yes r1.json
fails 2 'belongs to spooled=yes' push refused=yes r1.json to="$to"
fails 2 'it must not have a user or password' push r1.json to=http://me:pass@127.0.0.1:1
[[ $err != *pass@* ]]
tap_result $? 'nor does it show what was given'
for wrong in ftp://host host http:// 'http://host:99999' 'http://ho st' 'http://host\evil' 'http://host/#x' 'http://[::1'; do fails 2 'the URL' push r1.json to="$wrong"; done
fails 2 "did you mean 'influx'?" push r1.json to="$to" format=inflx
fails 2 'has no public endpoint' push r1.json to="$to" format=pytorch
fails 2 "to= has no 'bucket=|db='" push r1.json to="$to" format=influx
fails 2 'tries=0' push r1.json to="$to" tries=0
fails 2 'wait=-1' "$TBENCH" push r1.json to="$to" wait=-1
fails 2 'cacert=none cannot be read' push r1.json to="$to" cacert=none
fails 2 'No such file' push none.json to="$to"
TBENCH_TOKEN=$token fails 2 'the token would go unencrypted' push r1.json to=http://dashboard.example
[ "$(requests)" -eq 0 ] && { [ ! -e "$spool" ] || [ "$(entries)" -eq 0 ]; }
tap_result $? 'nothing was sent or spooled'

# --- files: their own bytes, and a bad one keeps none from going ---
reset good
python3 - <<'EOL'
import json
document = json.load(open("r1.json"))
document["cases"][0]["id"] = "odd"
text = json.dumps(document, indent=3).replace('"seed": 1', '"seed":\t1.0e0').replace('"odd"', '"\\u00e9\\/\\u001b[31m \u00e9"')
open("odd.json", "wb").write(("\r\n " + text + "\n\n").encode())
open("bytes.json", "wb").write(open("r1.json", "rb").read().replace(b'"host": "h"', b'"host": "h\xff"'))
open("zero.json", "wb").write(open("r1.json", "rb").read() + b"\0 and more")
open("broken.json", "wb").write(open("r1.json", "rb").read()[:-9])
EOL
run push odd.json to="$to"
[ "$status" -eq 0 ] && arrived odd.json
tap_result $? 'blanks, escapes and numbers are sent as they are written'
python3 - "$to/api/v1/results" "$(key odd.json)" <<'EOL'
import sys, urllib.request
request = urllib.request.Request(sys.argv[1], open("odd.json", "rb").read(), {"Idempotency-Key": sys.argv[2], "Content-Type": "application/json"})
assert urllib.request.urlopen(request, timeout=300).status == 200
EOL
tap_result $? 'the file that another program sends is the same document'
arrived odd.json
tap_result $? 'and is stored once'
offset=$(python3 -c 'print(open("bytes.json", "rb").read().index(b"\xff"))')
reset good
fails 2 "bytes.json: the byte 0xff at offset $offset (line 1) is not UTF-8" push bytes.json to="$to"
[ "$out" = '0 sent, 0 known already, 0 spooled, 0 refused, 1 left out (1 unreadable)' ] && [ "$(requests)" -eq 0 ] && [ "$(entries)" -eq 0 ]
tap_result $? 'bytes that are no text are not repaired: nothing is sent'
fails 2 "bytes.json: the byte 0xff at offset $offset" push bytes.json to="$to?bucket=b" format=influx
fails 2 "zero.json: the byte 0x00 at offset $(wc -c < r1.json)" push zero.json to="$to"
run push r1.json broken.json r2.json bytes.json none.json r3.json to="$to"
[ "$status" -eq 2 ] && [ "$out" = '3 sent, 0 known already, 0 spooled, 0 refused, 3 left out (3 unreadable)' ] && [ "$(entries)" -eq 0 ]
tap_result $? 'broken files among good ones: exit code 2'
arrived r1.json r2.json r3.json
tap_result $? 'the good ones are there'
[ "$(wc -l < err.text)" -eq 3 ] && [[ $err == *'broken.json: line 1 is not JSON'* && $err == *'bytes.json: the byte 0xff'* && $err == *'none.json: No such file'* ]]
tap_result $? 'each bad one is told'
reset 500
run push r1.json broken.json to="$to" tries=1
[ "$status" -eq 2 ] && [[ $out == '0 sent, 0 known already, 1 spooled, 0 refused, 1 left out (1 unreadable)'* ]] && [ "$(entries)" -eq 1 ]
tap_result $? 'and spooled, where the endpoint is down'
reset good
sed 's/"started": *"[^"]*"/"started": null/' r1.json > timeless.json
run push timeless.json r2.json to="$to?project=p" format=bencher
[ "$status" -eq 2 ] && [ "$out" = '1 sent, 0 known already, 0 spooled, 0 refused, 1 left out (1 not fit for this format)' ] && [[ $err == *'timeless.json: format=bencher: the result has no start time'* ]]
tap_result $? 'one that the format cannot say keeps no other from going'

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
await $! test -s e/port
TBENCH_TOKEN=$token run push spooled=yes
[ "$status" -eq 0 ] && [[ $out == '3 sent, 0 known already, 0 spooled, 0 refused' ]] && [ "$(entries)" -eq 0 ] && grep -q "Bearer $token" e/headers
tap_result $? 'spooled=yes sends them, with the token'
run push spooled=yes
[ "$status" -eq 0 ] && [[ $out == '0 sent, 0 known already, 0 spooled, 0 refused' ]]
tap_result $? 'and then there is nothing to send'

# --- answers ---
for mode in 500 503 429:0 cut-body cut-answer cut-head cut-key 500-stored slow:0.2 huge page stranger other-key nothing; do
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
[ "$status" -eq 4 ] && [ "$(requests)" -eq 1 ] && [[ $err == *'asks to wait 3600 s'* ]] && [ "$(entries)" -eq 2 ]
tap_result $? 'who asks for an hour is left alone'
reset page
run push r1.json to="$to" tries=2
[ "$status" -eq 4 ] && [[ $err == *'a web page answered (200)'* ]] && [ "$(entries)" -eq 1 ]
tap_result $? 'a log-in page is no acknowledgement'
# unproven MODE TEXT: answered so, the document stays in the spool, and TEXT is told.
unproven() {
  reset "$1"
  run push r1.json to="$to" tries=2
  [ "$status" -eq 4 ] && [[ $out == '0 sent, 0 known already, 1 spooled, 0 refused'* && $err == *"not sent: $to: it answered 20"*"$2"* ]] && [ "$(entries)" -eq 1 ] && [ "$(requests)" -eq 2 ]
  tap_result $? "$1: no acknowledgement, and what answered is told"
}
unproven other-key "with the key of another document, $(printf another | sha256sum | cut -c1-20)…; the key of this one is $(key r1.json | cut -c1-20)…"
unproven stranger " with 'Welcome to the hotel', which does not acknowledge format=tbench"
unproven nothing ' with nothing, which'
unproven huge "xxx' (cut off), which"
unproven cut-key "\"ke' (cut off), which"
echo good > e/mode
run push spooled=yes
[ "$status" -eq 0 ] && [[ $out == '0 sent, 1 known already, 0 spooled'* ]] && arrived r1.json
tap_result $? 'what was stored all the same is known, and stored once'
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
  'prometheus PUT /metrics/job/tbench/instance/h/suites/s 200' 'bencher POST /v0/run?project=p 201 ?project=p' 'lnt POST /api/db_default/v4/nts/runs?merge=replace 301' \
  'conbench POST /api/benchmark-results/ 201'; do
  read -r format method path answer more <<< "$row"
  reset good
  TBENCH_TOKEN=$token run push r1.json to="$to$more" format="$format"
  [ "$status" -eq 0 ] && grep -qF " good $answer $method $path" e/log && grep -q "$token" e/headers && [ "$(entries)" -eq 0 ]
  tap_result $? "$format goes to $method $path"
  [[ $out == "$(requests) sent, 0 known already, 0 spooled, 0 refused" ]] && { [ "$(requests)" -eq 1 ] || [ "$format" = conbench ]; }
  tap_result $? "$format: $(requests) request(s)"
  for mode in stranger nothing other-key moved:http://127.0.0.1:1/; do
    reset "$mode"
    run push r1.json to="$to$more" format="$format" tries=1
    [ "$status" -eq 4 ] && [ "$(requests)" -eq 1 ] && [[ $out == '0 sent, 0 known already, '*' spooled, 0 refused'* ]] && [ "$(entries)" -gt 0 ]
    tap_result $? "$format: $mode is no acknowledgement"
  done
done
# What replaces what is there: a group for each host and its suites, and of one call nothing that another document of it would take away.
sed 's/"suite": "s"/"suite": "t"/g' r1.json > t.json
sed 's/"host": "h"/"host": "i"/' r1.json > i.json
reset good
run push r1.json t.json i.json r1.json to="$to" format=prometheus
[ "$status" -eq 0 ] && [ "$(sed 's/.* //' e/log | sort -u | wc -l)" -eq 3 ] && grep -q ' PUT /metrics/job/tbench/instance/h/suites/t$' e/log && grep -q '/instance/i/suites/s$' e/log
tap_result $? 'prometheus: results of other suites and hosts replace none'
reset good
run push r1.json r2.json t.json r3.json to="$to" format=prometheus
[ "$status" -eq 2 ] && [ "$out" = '2 sent, 0 known already, 0 spooled, 0 refused, 2 left out (2 not fit for this format)' ] && [ "$(requests)" -eq 2 ] && [ "$(wc -l < err.text)" -eq 2 ] &&
  [[ $err == *"r2.json: it would replace r1.json, which goes to $to/metrics/job/tbench/instance/h/suites/s too"* && $err == *'1 more for the same reasons'* ]]
tap_result $? 'prometheus: what would replace another one of the call is told, and left out'
reset good
run push r1.json t.json to="$to/metrics/job/mine" format=prometheus
[ "$status" -eq 2 ] && [ "$(requests)" -eq 1 ] && [[ $err == *'t.json: it would replace r1.json, which goes to '*'/metrics/job/mine too'* ]]
tap_result $? 'prometheus: also in a group of to='
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
assert len(report["results"]) == 1 and sum(name.startswith("s/w/") for name in json.loads(report["results"][0])) == 20
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
env -u CONBENCH_PROJECT_REPOSITORY "$TBENCH" push r1.json to="$to" format=conbench > out.text 2> err.text
status=$? out=$(cat out.text) err=$(cat err.text)
[ "$status" -eq 2 ] && [[ $err == *'wants to know the repository'* ]]
tap_result $? 'what a format lacks is told'

# --- disks ---
reset good
cp r1.json whole.json
no_space() { (trap '' XFSZ; ulimit -f 1; exec "$TBENCH" push whole.json to="$to"); }
run no_space
[ "$status" -eq 4 ] && [[ $err == *'whole.json was not sent, and is unchanged: '*'File too large'* ]] && cmp -s r1.json whole.json && [ "$(find "$spool" -type f | wc -l)" -eq 0 ] && [ "$(requests)" -eq 0 ]
tap_result $? 'a spool without room: a clear error, the file is as it was, nothing half-written'
[ "$out" = "0 sent, 0 known already, 0 spooled, 0 refused, 1 left out (1 could not be spooled: the spool $spool: File too large)" ]
tap_result $? 'and the last line counts what was left out, and says why'
# Room for a small one, and for none of the others.
python3 - <<'EOL'
import json
document = json.load(open("r1.json"))
del document["cases"][1:]
json.dump(document, open("little.json", "w"))
EOL
some_space() { (trap '' XFSZ; ulimit -f "${room:-2}"; exec "$TBENCH" push whole.json little.json r2.json broken.json to="$to" wait=0.01 "$@"); }
run some_space
[ "$status" -eq 2 ] && [[ $out == '1 sent, 0 known already, 0 spooled, 0 refused, 3 left out (1 unreadable, 2 could not be spooled: '*'File too large)' && $err == *'1 more for the same reasons'* ]] && arrived little.json
tap_result $? 'what has room goes, and all else is counted: exit code 2, for one is broken'
reset good
room=8 run some_space format=prometheus
[ "$status" -eq 2 ] && [[ $out == '1 sent, 0 known already, 0 spooled, 0 refused, 3 left out (1 unreadable, 1 not fit for this format, 1 could not be spooled: '* && $err == *'r2.json: it would replace little.json'* ]]
tap_result $? 'what found no room holds no URL for itself'
reset 500
run some_space tries=1
[ "$status" -eq 2 ] && [[ $out == '0 sent, 0 known already, 1 spooled, 0 refused, 3 left out ('* ]] && [ "$(entries)" -eq 1 ]
tap_result $? 'also where the endpoint is down'
reset good
if [ "$(id -u)" -eq 0 ] && mkdir -p small && mount -t tmpfs -o size=64k tmpfs small 2> /dev/null; then
  head -c 60000 /dev/zero > small/filled
  run push whole.json to="$to" spool=small/spool
  [ "$status" -eq 4 ] && [[ $err == *'No space left on device'* ]] && [ -z "$(find small/spool -type f)" ]
  tap_result $? 'the same on a disk that is full'
  rm small/filled
  run push whole.json to="$to" spool=small/spool
  [ "$status" -eq 0 ] && [ "$(stored)" -eq 1 ]
  tap_result $? 'and again, with room'
  # Room for a few of many: those go, and make room for the next ones.
  reset good
  head -c 30000 /dev/zero > small/filled
  run push r?.json to="$to" spool=small/spool
  few=$(($(stat -f -c '%f * %S' small) / $(wc -c < r1.json)))
  [ "$few" -gt 0 ] && [ "$few" -lt 9 ]
  tap_result $? "of nine, a disk that has room for $few"
  [ "$status" -eq 0 ] && [ "$out" = '9 sent, 0 known already, 0 spooled, 0 refused' ] && [ -z "$err" ] && arrived r?.json && [ -z "$(find small/spool -type f)" ]
  tap_result $? 'takes all nine, one after the other'
  reset 500
  run push r?.json to="$to" spool=small/spool tries=1
  kept=$(find small/spool -maxdepth 1 -name '*.entry' | wc -l)
  [ "$status" -eq 4 ] && [ "$kept" -gt 0 ] && [[ $out == "0 sent, 0 known already, $kept spooled, 0 refused, $((9 - kept)) left out ($((9 - kept)) could not be spooled: "*'No space left on device)'* ]] && [ "$(requests)" -eq 1 ]
  tap_result $? 'where the endpoint is down, it keeps what it has room for, and the others are counted'
  reset good 429:3600
  rm small/spool/*.entry
  run push r?.json to="$to" spool=small/spool
  [ "$status" -eq 4 ] && [ "$(stored)" -eq 1 ] && [[ $out == "1 sent, 0 known already, "*" spooled, 0 refused, "*" left out ("* ]] && [ "$(requests)" -eq 2 ]
  tap_result $? 'and where it goes down in between'
  umount small
fi
fails 4 'the spool /dev/null/x: Not a directory' push r1.json to="$to" spool=/dev/null/x

# --- Ctrl-C, several processes, kill -9 ---
reset silent:20
begin "$TBENCH" push r1.json r2.json to="$to"
was_asked() { [ "$(requests)" -gt 0 ]; }
await "$pid" was_asked
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

# Two processes with one document, which the endpoint refuses when both have it: the second one sends another one first, and waits then.
for answer in 400 401; do
  reset "gate:$answer good"; rm -f e/gate e/headers
  push r1.json to="$to" stall=3600 timeout=3600 > first.text 2>&1 &
  first=$!
  await "$first" test -s e/headers
  push r2.json r1.json to="$to" wait_most=3600 > out.text 2> err.text &
  second=$!
  r2_is_stored() { [ "$(stored)" -eq 1 ]; }
  await "$second" r2_is_stored
  touch e/gate
  wait "$first"
  first=$?
  wait "$second"
  status=$? out=$(cat out.text) err=$(cat err.text)
  [ "$first" -eq 4 ] && [ "$status" -eq 4 ] && [ "$(requests)" -eq 2 ] && [ "$(refused entry)" -eq 1 ] && [ "$(entries)" -eq 0 ]
  tap_result $? "$answer: what one process is refused is refused for the other, with its exit code"
  [[ $out == '1 sent, 0 known already, 0 spooled, 1 refused'* && $err == "tbench push: r1.json: refused: $to: it answered $answer: told so (the answer to another process)" ]]
  tap_result $? "$answer: and it says what the endpoint said"
done

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
[[ $out == *'victoriametrics'* && $out == *'TBENCH_TOKEN'* && $out == *'stored twice'* ]]
tap_result $? 'help tells of formats and token'
tap_end
