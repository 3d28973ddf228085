#!/bin/bash
# `tbench serve`: what it takes and refuses, its queries, its limits, and that whatever it acknowledged is there after kill -9.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

load=${builddir:?}/tests/bench/bench_serve
server_of() { # the program itself, not the verb that starts it: its number is that of the process
  local folder
  folder=$(dirname "$TBENCH")
  echo "$folder/tbench-serve"
}
if [ ! -x "$(server_of)" ]; then
  echo "1..0 # SKIP tbench-serve is not built (libmicrohttpd-dev, libsqlite3-dev, libssl-dev)"
  exit 0
fi

server=0
trap '[ "$server" = 0 ] || kill -9 "$server" 2> /dev/null' EXIT

# start OPTION…: a server on results.db (or db=…); sets $server, $port and, where one was shown, $token.
start() {
  local database=db=results.db option
  for option in "$@"; do case $option in db=*) database= ;; esac; done
  server_begin server within "${file_kib:-}" "$(server_of)" $database listen=127.0.0.1:0 "$@"
  port=${address##*:}
}
within() { # KIB PROGRAM…: none of its files may be larger; "": they may
  [ -z "$1" ] || ulimit -f "$1"
  exec "${@:2}"
}
stop() {
  server_end "$server"
  server=0
}

# http METHOD PATH [BODY-FILE] [HEADER…]: $code and $body (headers in $head) of the answer.
http() {
  local method=$1 path=$2 file=${3:-/dev/null} header
  shift $(($# < 3 ? $# : 3))
  exec 9<> "/dev/tcp/127.0.0.1/$port" || { code=0 body= head=; return; }
  {
    printf '%s %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n' "$method" "$path" "$port"
    for header in "$@"; do printf '%s\r\n' "$header"; done
    [ "$file" = /dev/null ] || printf 'Content-Length: %s\r\n' "$(wc -c < "$file")"
    printf '\r\n'
    cat "$file"
  } >&9 2> /dev/null
  timeout "$patience" cat <&9 > answer.bytes 2> /dev/null
  exec 9>&-
  head=$(sed '/^\r$/q' answer.bytes | tr -d '\r')
  body=$(sed '1,/^\r$/d' answer.bytes)
  code=$(sed -n '1s/^HTTP\/1.1 \([0-9]*\).*/\1/p' answer.bytes)
}
# http_until CODE METHOD PATH…: asks again until the answer has this code.
http_until() { await "$server" answers "$@"; }
answers() {
  http "${@:2}"
  [ "$code" = "$1" ]
}
# has_lines FILE COUNT: more than so many.
has_lines() { [ "$(wc -l < "$1" 2> /dev/null || echo 0)" -gt "$2" ]; }
json='Content-Type: application/json'
send() { http POST /api/v1/results "$1" "$json" "Authorization: Bearer $token" "${@:2}"; }
is() { # is NAME CODE TEXT: the answer has this code, and its body this text
  status=$code out=$body err=$head
  [ "$code" = "$2" ] && [[ $body == *"$3"* ]]
  tap_result $? "$1"
}
metric() { http GET /metrics; sed -n "s/^tbench_$1 //p" <<< "$body"; }

# --- its libraries ---
needed() { ldd "$1" | grep -cE 'lib(crypto|sqlite3|microhttpd)\.so'; }
[ "$(needed "$(server_of)")" = 3 ] && [ "$(needed "$TBENCH")" = 0 ]
tap_result $? 'its libraries are its own: tbench, whose start is measured, loads none of them'

# --- one document ---
start
[ -n "$token" ]
tap_result $? 'the first start makes a token and shows it'
"$load" "127.0.0.1:$port" "$token" connections=1 documents=1 first=7 seconds=$patience keys=first.keys > /dev/null
key=$(cat first.keys)
http GET "/api/v1/results/$key"
printf '%s' "$body" > document.json
[ "$code" = 200 ] && [ "$(sha256sum < document.json | cut -d' ' -f1)" = "$key" ]
tap_result $? 'a stored document comes back byte for byte, under the SHA-256 of it'
send document.json
is 'the same document again is already there' 200 '"status":"already there"'
[ "$(metric documents)" = 1 ] && [ "$(metric points)" = 1 ]
tap_result $? 'it is stored once'
sed 's/"seed":7/"seed":8/' document.json > second.json
send second.json "Idempotency-Key: $(sha256sum < second.json | cut -d' ' -f1)"
is 'another one is stored, with its key' 201 "\"key\":\"$(sha256sum < second.json | cut -d' ' -f1)\""
sed 's/"seed":7/"seed":9/' document.json > third.json
send third.json "Idempotency-Key: $key"
is 'a key that is not that of the document is refused' 400 'Idempotency-Key is not the SHA-256 of the document'
gzip -c third.json > third.gz
send third.gz 'Content-Encoding: gzip' "Idempotency-Key: $(sha256sum < third.json | cut -d' ' -f1)"
is 'a compressed one is stored under the key of what it unpacks to' 201 "$(sha256sum < third.json | cut -d' ' -f1)"
send third.json
is 'so that it is the same as the plain one' 200 'already there'

XDG_STATE_HOME=$PWD/state TBENCH_TOKEN=$token run "$TBENCH" push third.json "to=http://127.0.0.1:$port"
[ "$status" -eq 0 ] && [[ $out$err == *'0 sent, 1 known already'* ]]
tap_result $? 'tbench push knows what another program sent'
sed 's/"seed":7/"seed" :  10/' document.json > pushed.json # as no printer writes it
for told in '1 sent, 0 known already' '0 sent, 1 known already'; do
  XDG_STATE_HOME=$PWD/state TBENCH_TOKEN=$token run "$TBENCH" push pushed.json "to=http://127.0.0.1:$port"
  [ "$status" -eq 0 ] && [[ $out$err == *"$told"* ]]
  tap_result $? "tbench push: $told"
done
send pushed.json
is 'what tbench push sent is there already, whoever sends that file' 200 "$(sha256sum < pushed.json | cut -d' ' -f1)"
http GET /api/v1/figures
is 'the columns are explained' 200 '"path":"speedup.ratio"'

# --- what is refused ---
sed 's/"ratio":2/"ratio":"2"/' document.json > wrong.json
send wrong.json
is 'the path of what is wrong, and what was expected' 400 '$.cases[0].speedup.ratio: expected number, found string'
sed 's/"outcome":"ok",//' document.json > wrong.json
send wrong.json
is 'what is missing' 400 "\$.cases[0]: lacks 'outcome'"
sed 's/"env":0/"env":1/' document.json > wrong.json
send wrong.json
is 'an environment that is not there' 400 'env is the number of a missing environment'
printf '{"schema":1' > wrong.json
send wrong.json
is 'no JSON' 400 'an object does not end (at byte 12)'
http POST /api/v1/results document.json "$json"
is 'no token' 401 'writing needs a token'
http POST /api/v1/results document.json "$json" "Authorization: Bearer ${token%?}x"
is 'a wrong token' 401 'writing needs a token'
http POST /api/v1/results document.json "$json" "Authorization: Basic $(printf 'x:%s' "$token" | base64 -w0)"
is 'what a browser sends by itself does not write' 401 'writing needs a token'
http POST /api/v1/results document.json "$json" "Authorization: Bearer $token" 'Origin: http://127.0.0.1'
is 'pages may not write' 403 'pages may not write here'
http POST /api/v1/results document.json 'Content-Type: text/plain' "Authorization: Bearer $token"
is 'another type of content' 415 'application/json is what is taken'
head -c 2000000 /dev/zero | gzip -9 > bomb.gz
cat bomb.gz > bombs.gz
send bombs.gz 'Content-Encoding: gzip'
is 'gzip of what is no JSON' 400 'not valid JSON'
head -c 40000000 /dev/zero | gzip -9 > bomb.gz
send bomb.gz 'Content-Encoding: gzip'
is 'what unpacks to more than the limit' 413 'larger than the server accepts'
head -c 17000000 /dev/zero > large.json
send large.json
is 'what is larger than the limit' 413 'larger than 16 MiB'
http POST /health document.json "$json"
is 'another method' 405 'takes GET'
http GET '/api/v1/../../etc/passwd'
is 'a path that leads nowhere' 404 'nothing at this path'
http GET '/api/v1/results/..%2f..%2fetc%2fpasswd'
is 'a key that is a path' 400 '64 hex digits'
http GET "/api/v1/series?case=%27%20OR%201%3D1%20--"
is 'a case that is SQL' 404 'no such case'
exec 9<> "/dev/tcp/127.0.0.1/$port" && printf 'GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n' >&9 && body=$(timeout "$patience" cat <&9) && code=${body:9:3}
exec 9>&-
is 'a name that is not of this server' 421 'does not have that name'
{ printf 'GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: '; head -c 100000 /dev/zero | tr '\0' a; printf '\r\n\r\n'; } > huge.text
exec 9<> "/dev/tcp/127.0.0.1/$port"
cat huge.text >&9 2> /dev/null
timeout "$patience" cat <&9 > huge.answer 2> /dev/null
exec 9>&-
! grep -q '^HTTP/1.1 200' huge.answer
tap_result $? 'huge headers are refused'
http GET /health
is 'and it goes on serving' 200 '"status":"ok"'
[[ $head == *'X-Content-Type-Options: nosniff'* && $head == *"Content-Security-Policy: default-src 'none'"* && $head == *'X-Frame-Options: DENY'* && $head == *'Referrer-Policy: no-referrer'* ]]
tap_result $? 'its answers tell browsers to be careful'
[ "$(metric documents)" = 4 ]
tap_result $? 'nothing that was refused is stored'

# --- tokens ---
grep -qa "${token#tb_write_}" results.db results.db-wal
[ $? -eq 1 ]
tap_result $? 'the file does not have the token'
run "$TBENCH" serve db=results.db token=read
[ "$status" -eq 0 ] && reading=$(sed -n 's/^token for reading, shown this once: //p' <<< "$out") && [ -n "$reading" ]
tap_result $? 'a token for reading is made while the server runs'
http_until 401 GET /api/v1/cases
is 'from then on reading needs it' 401 'reading needs a token'
http GET /api/v1/cases /dev/null "Authorization: Bearer $reading"
is 'who has it may read' 200 '"cases":['
http GET /api/v1/cases /dev/null "Authorization: Basic $(printf 'x:%s' "$reading" | base64 -w0)"
is 'also as the password of a browser' 200 '"cases":['
http POST /api/v1/results document.json "$json" "Authorization: Bearer $reading"
is 'and not write' 401 'writing needs a token'
number=$("$TBENCH" serve db=results.db token=list | sed -n 's/^\([0-9]*\)  read .*/\1/p')
run "$TBENCH" serve db=results.db "token=remove:$number"
http_until 200 GET /api/v1/cases
is 'a token that was removed is none' 200 '"cases":['

# --- a second server, a copy ---
run timeout "$patience" "$TBENCH" serve db=results.db listen=127.0.0.1:0
[ "$status" -eq 4 ] && [[ $err == *'another tbench serve has results.db'* ]]
tap_result $? 'a database has one server'
run "$TBENCH" serve db=results.db backup=copy.db
[ "$status" -eq 0 ] && [ -s copy.db ] && [ ! -e copy.db.part ]
tap_result $? 'a copy is made while the server runs'
stop
[ "$stopped" -eq 0 ]
tap_result $? 'SIGTERM ends it in order'
start db=copy.db
[ "$(metric documents)" = 4 ]
tap_result $? 'the copy is a whole database'
stop

# --- beyond this machine ---
fails 2 'beyond it (listen=0.0.0.0:0) writing needs a token' "$TBENCH" serve db=other.db listen=0.0.0.0:0 open=yes
fails 2 'use ADDRESS:PORT' "$TBENCH" serve listen=8080
fails 2 'use a whole number from 1 to 64' "$TBENCH" serve max_mib=0
echo nonsense-nonsense-nonsense-nonsense > broken.db
fails 4 'broken.db' "$TBENCH" serve db=broken.db listen=127.0.0.1:0

# --- limits ---
start db=limited.db rate=1
ask="GET /static/style.css HTTP/1.1\r\nHost: 127.0.0.1:$port\r\n\r\n"
told_to_wait() { # both at once, and again where a second has passed between them
  exec 9<> "/dev/tcp/127.0.0.1/$port"
  printf '%b' "$ask$ask" >&9
  out=$(timeout 10 cat <&9) status=$? err=
  exec 9>&-
  [ "$status" -eq 0 ] && [[ $out == *'HTTP/1.1 200 '*'HTTP/1.1 429 '*'Retry-After: 1'* ]]
}
await "$server" told_to_wait
tap_result $? 'more requests than rate= are told to come again'
http_until 200 GET /static/style.css
is 'and are taken then' 200 'prefers-color-scheme'
http_until 401 POST /api/v1/results document.json "$json" "Authorization: Bearer ${token%?}x"
is 'a guess at the token' 401 'writing needs a token'
http GET /static/style.css
again=$(sed -n 's/^Retry-After: //p' <<< "$head")
[ "$code" = 429 ] && [ "${again:-0}" -gt 5 ]
tap_result $? "costs more than may be done in a second: $again s"
http GET /health
is 'but whoever watches the server learns how it is' 200 '"status":"ok"'
stop

start db=limited.db rate=1000 connections=16 timeout=3600 # those that are held stay
trap '' PIPE # a connection that is refused is told by nothing but its end
held=()
for _ in 1 2 3 4; do
  exec {fd}<> "/dev/tcp/127.0.0.1/$port"
  held+=("$fd")
done
turned_away() { # the others may not be counted yet
  exec 9<> "/dev/tcp/127.0.0.1/$port"
  timeout 10 cat <&9 > /dev/null 2>&1
  status=$?
  exec 9>&-
  [ "$status" -ne 124 ]
}
await "$server" turned_away
tap_result $? 'an address has a quarter of the connections, and no more'
fd=${held[0]}
exec {fd}>&-
http_until 200 GET /health
is 'until one of them is closed' 200 '"status":"ok"'
for fd in "${held[@]:1}"; do exec {fd}>&-; done
trap - PIPE
stop

# --- answers that nobody reads ---
start db=unread.db timeout=3600
filled=$(cat document.json)
{
  printf '%s"argv":["' "${filled%%\"argv\":\[\]*}"
  head -c 15000000 /dev/zero | tr '\0' a
  printf '"]%s' "${filled#*\"argv\":\[\]}"
} > large.json
send large.json
is 'a large document is stored' 201 stored
large=$(sha256sum < large.json | cut -d' ' -f1)
held=()
for _ in $(seq 12); do
  exec {fd}<> "/dev/tcp/127.0.0.1/$port"
  printf 'GET /api/v1/results/%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' "$large" >&"$fd"
  held+=("$fd")
done
http_until 503 GET "/api/v1/results/$large"
[ "$code" = 503 ] && [[ $body == *'more answers wait to be read than fit into memory'* && $head == *'Retry-After: '* ]]
tap_result $? 'large answers are not given while too many others are not read'
http GET /api/v1/figures
is 'small ones are' 200 '"path":"speedup.ratio"'
for fd in "${held[@]}"; do exec {fd}>&-; done
http_until 200 GET "/api/v1/results/$large"
[ "$code" = 200 ] && [ "$(sed '1,/^\r$/d' answer.bytes | sha256sum | cut -d' ' -f1)" = "$large" ]
tap_result $? 'and once those clients are gone it is given whole'
nothing_held() { [ "$(metric answer_bytes)" = 0 ]; }
await "$server" nothing_held
tap_result $? 'then nothing is held any more'
body=
stop

# --- no room ---
file_kib=400 start db=full.db
# Whoever sent one hears of it before this ends, or it would be stored and not among the keys.
"$load" "127.0.0.1:$port" "$token" connections=4 documents=3000 seconds=$patience keys=full.keys > load.out 2>&1
http GET /api/v1/figures
is 'without room it goes on serving' 200 '"path":"speedup.ratio"'
sed 's/"seed":7/"seed":70/' document.json > more.json
for _ in $(seq 50); do
  send more.json
  http GET /health
  [ "$code" = 503 ] && break
done
is 'whoever watches it learns that nothing can be stored' 503 '"status":"nothing can be stored"'
grep -q 'nothing can be stored: the database: ' server.err
tap_result $? 'and whoever reads what it says learns why'
send more.json
is 'and says that nothing was stored' 503 'the database could not be written; nothing was stored'
[[ $head == *'Retry-After: '* ]] && [ "$(metric commits_failed_total)" -gt 0 ]
tap_result $? 'and when to come again'
stop
start db=full.db
[ -s full.keys ] && [ "$(metric documents)" = "$(sort -u full.keys | wc -l)" ]
tap_result $? "what was acknowledged until then, and no more, is there: $(wc -l < full.keys)"
send more.json
is 'and once there is room it is stored' 201 stored
http GET /health
is 'and it is well' 200 '"status":"ok"'
stop

# --- pages ---
start db=pages.db
taken=0
for n in $(seq 12); do
  sed "s/2025-01-01T00:00:07Z/2025-01-$((n + 10))T00:00:00Z/g; s,load/case[0-9]*/,<script>alert(1)</script>\\\\\"'\&/,; s/\"commit\":\"[a-z0-9]*\"/\"commit\":\"=cmd()$n\"/" document.json > evil.json
  send evil.json
  [ "$code" = 201 ] && taken=$((taken + 1))
done
[ "$taken" -eq 12 ]
tap_result $? "a name may hold anything: $taken of 12 are stored"
hostile='%3Cscript%3Ealert(1)%3C%2Fscript%3E%22%27%26%2Finductor%2Fdefault%2Fcpu%2Ff32%2Fb8%2Fmachine%2Ft2'
for page in / /cases /regressions "/case?case=$hostile" '/compare?base=%3Dcmd()1&head=%3Dcmd()2' '/cases?match=%3Cscript%3E' '/compare?base=%3Cscript%3E&head=x' "/api/v1/series?case=$hostile"; do
  http GET "$page"
  status=$code out=$body err=$head
  [ -n "$body" ] && [[ $body != *'<script>'* && $body != *"\"'&/"* ]] && { [ "$code" = 200 ] || [ "$code" = 404 ]; }
  tap_result $? "and no page takes it for its own: $page"
done
http GET "/case?case=$hostile"
[[ $body == *'<h1>&lt;script&gt;alert(1)'* && $body == *' data-series="/api/v1/series?case=%3Cscript'* && $body == *'2025-01-22'* && $body == *'<table>'* ]]
tap_result $? 'the page of a case has its runs as a table, without JavaScript'
http GET "/api/v1/series?case=$hostile&format=csv"
is 'CSV has nothing that a spreadsheet would run' 200 ",\"'=cmd()12\","
http GET /static/style.css
is 'pages bring their style' 200 'prefers-color-scheme'
http GET /static/..%2f..%2fetc%2fpasswd
is 'and nothing else' 404 'nothing at this path'
http GET "/result?key=$(sha256sum < evil.json | cut -d' ' -f1)"
is 'a result has a page' 200 '=cmd()12'
stop

# --- kill -9 under load ---
start db=killed.db
lost=0 rounds=3
: > acknowledged.keys
for round in $(seq "$rounds"); do
  "$load" "127.0.0.1:$port" "$token" connections=16 seconds=$patience "first=$((round * 1000000))" keys=acknowledged.keys > load.out 2>&1 &
  client=$!
  await "$client" has_lines acknowledged.keys $((round * 150))
  kill -9 "$server"
  wait "$server" 2> /dev/null
  wait "$client"
  start db=killed.db
done
status=0 out=$(tail -n 3 load.out) err=
count=$(wc -l < acknowledged.keys)
sort -u acknowledged.keys > unique.keys
while read -r key; do
  http GET "/api/v1/results/$key"
  [ "$code" = 200 ] || lost=$((lost + 1))
done < <(shuf -n 150 --random-source=<(yes) unique.keys)
stored=$(metric documents)
[ "$count" -gt $((rounds * 100)) ] && [ "$lost" -eq 0 ] && [ "$stored" -ge "$(wc -l < unique.keys)" ]
tap_result $? "what was acknowledged before kill -9 is there: $count, $rounds times; stored are $stored"

# --- idle and slow clients ---
stop
start db=killed.db timeout=3600 # none is closed while others are still opened
idle=10000
[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -gt $((idle + 300)) ] || idle=$(($(ulimit -Hn) - 300))
"$load" "127.0.0.1:$port" "$token" connections=8 documents=400 first=50000000 seconds=$patience "idle=$idle" > load.out 2>&1
status=$? out=$(cat load.out) err=
[ "$status" -eq 0 ] && [[ $out == "$idle idle connections"*$'\n''400 acknowledged'* ]]
tap_result $? "beside $idle connections that are idle, or stopped in headers or bodies, others are served"
memory=$(metric resident_memory_bytes)
out="$memory bytes"
[ "${memory%.*}" -lt 100000000 ] || grep -qE '__(asan|tsan)_init' "$(server_of)"
tap_result $? 'in less than 100 MB'

# --- SIGTERM under load: all that was acknowledged is there, and whoever was taken is answered ---
: > stopped.keys
"$load" "127.0.0.1:$port" "$token" connections=16 seconds=$patience first=60000000 keys=stopped.keys > load.out 2>&1 &
client=$!
await "$client" has_lines stopped.keys 100
stop
wait "$client"
[ "$stopped" -eq 0 ]
tap_result $? 'SIGTERM under load ends it in order'
start db=killed.db
missing=0
while read -r key; do
  http GET "/api/v1/results/$key"
  [ "$code" = 200 ] || missing=$((missing + 1))
done < <(tail -n 40 stopped.keys)
[ "$missing" -eq 0 ]
tap_result $? 'and the last documents that were acknowledged are there'
stop

# --- retention ---
start db=killed.db retain=1
is_empty() { [ "$(metric documents)" = 0 ] && [ "$(metric points)" = 0 ]; }
await "$server" is_empty
tap_result $? 'retain= removes what is too old'
send document.json
is 'and takes nothing that would be removed at once' 400 '$.started: longer ago than this server keeps results (retain=1, in days)'
XDG_STATE_HOME=$PWD/state TBENCH_TOKEN=$token run "$TBENCH" push document.json "to=http://127.0.0.1:$port"
[ "$status" -ne 0 ] && [[ $out$err == *'longer ago than this server keeps results'* ]] && grep -rqs 'longer ago than this server' state --include='*.reason'
tap_result $? 'so that tbench push keeps it, with the reason'
stop
tap_end
