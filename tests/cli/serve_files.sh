#!/bin/bash
# `tbench serve` and the files that it is told of: what backup= writes and what it leaves alone, databases that are not there; and what it is asked
# in ways that HTTP does not have.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

program=$(dirname "$TBENCH")/tbench-serve
load=${builddir:?}/tests/bench/bench_serve
if [ ! -x "$program" ]; then
  echo "1..0 # SKIP tbench-serve is not built (libmicrohttpd-dev, libsqlite3-dev, libssl-dev)"
  exit 0
fi

declare -A servers=() ports=()
trap '[ ${#servers[@]} -eq 0 ] || kill -9 "${servers[@]}" 2> /dev/null' EXIT

# start DATABASE: a server, whose number is in servers[DATABASE] and whose port in ports[DATABASE]; $token where one was shown.
start() {
  server_begin "$1" "$program" "db=$1" listen=127.0.0.1:0
  servers[$1]=$server ports[$1]=${address##*:}
}
stop() {
  server_end "${servers[$1]}"
  unset "servers[$1]"
}
# ask DATABASE TEXT: what its server answers to these bytes (escapes of printf), in $out.
ask() {
  out=
  exec 9<> "/dev/tcp/127.0.0.1/${ports[$1]}" || return
  printf '%b' "$2" | cat >&9 2> /dev/null # in one piece: what is refused at its first line is closed then
  out=$(timeout "$patience" cat <&9 2> /dev/null | tr -d '\0')
  exec 9>&-
}
documents() { # how many DATABASE has, as its server tells
  ask "$1" 'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n'
  sed -n 's/^tbench_documents \([0-9]*\).*/\1/p' <<< "$out"
}
add() { # add DATABASE COUNT FIRST
  "$load" "127.0.0.1:${ports[$1]}" "$token" connections=1 seconds=$patience "documents=$2" "first=$3" keys=added.keys > load.out 2>&1
}
# copies NAME: a copy of own.db is made under this name.
copies() {
  run timeout "$patience" "$TBENCH" serve db=own.db "backup=$1"
  [ "$status" -eq 0 ] && [ "$out" = "$1" ] && [ -s "$1" ]
}
# keep FILE, then: untouched FILE, it is what it was; in_place FILE, it is the same file, into which its server may have written.
state_of() { echo "$(stat -c '%i %s' "$1") $(sha256sum < "$1")"; }
keep() { kept=$(state_of "$1"); }
untouched() { [ "$(state_of "$1")" = "$kept" ]; }
in_place() { [ "$(stat -c %i "$1")" = "${kept%% *}" ]; }

# --- the database itself ---
start own.db
add own.db 3 7
[ "$(documents own.db)" = 3 ]
tap_result $? 'a server has a database with three results'
ln -s own.db own-link.db
ln own.db own-hard.db
ln -s "$PWD" around
for name in own.db ./own.db own-link.db own-hard.db around/own.db around/own-link.db; do
  keep own.db
  fails 2 'is the database itself' timeout "$patience" "$TBENCH" serve db=own.db "backup=$name"
  in_place own.db
  tap_result $? "and it stays in its place: $name"
done
fails 2 'is the database itself' timeout "$patience" "$TBENCH" serve db=own-link.db backup=own.db
for name in own.db-wal own.db-shm own.db-journal own.db.serve new.db-wal new.db.serve around/own.db-wal; do
  fails 2 'belong to a database' timeout "$patience" "$TBENCH" serve db=own.db "backup=$name"
done
add own.db 2 100
[ "$(documents own.db)" = 5 ]
tap_result $? 'it goes on storing'
stop own.db
start own.db
[ "$(documents own.db)" = 5 ]
tap_result $? 'and whatever was acknowledged is there'

# --- what a copy may take the place of ---
chmod 640 own.db
copies new.db && [ "$(stat -c %a new.db)" = 640 ]
tap_result $? 'a name that is free, with the rights of the database'
: > empty.db
copies empty.db
tap_result $? 'an empty file'
add own.db 1 200
copies new.db
tap_result $? 'an earlier copy'
mkdir elsewhere
cp new.db elsewhere/real.db
ln -s elsewhere/real.db link.db
keep elsewhere/real.db
copies link.db && [ -L link.db ] && ! untouched elsewhere/real.db
tap_result $? 'an earlier copy behind a link, which stays a link'
odd='a copy? #1 %41.db'
copies "$odd" && copies "$odd"
tap_result $? 'whatever its name'
out=$(find . -name '*.part*')
[ -z "$out" ]
tap_result $? 'nothing of the way there is left'
touch new.db.part-aB3dE6 new.db.part-aB3dE6-journal new.db.part-notes other.db.part-aB3dE6
copies new.db && [ "$(echo *.part*)" = 'new.db.part-notes other.db.part-aB3dE6' ]
tap_result $? 'and what a copy that was killed left beside this name goes with the next one, but nothing else'
rm -f -- *.part*
if command -v python3 > /dev/null; then
  # A signal that is there from the beginning: it waits, held back, until the program asks for it.
  keep new.db
  run timeout "$patience" python3 -c 'import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
os.kill(os.getpid(), signal.SIGTERM)
os.execv(sys.argv[1], sys.argv[1:])' "$program" db=own.db backup=new.db
  [ "$status" -eq 130 ] && untouched new.db && [ -z "$(find . -name '*.part*')" ]
  tap_result $? 'a copy that is told to stop leaves the earlier one, and nothing else'
fi
start new.db
[ "$(documents new.db)" = 6 ]
tap_result $? 'a copy has all results'

# --- what it leaves alone ---
keep new.db
fails 4 'is in use' timeout "$patience" "$TBENCH" serve db=own.db backup=new.db
in_place new.db && [ "$(documents new.db)" = 6 ]
tap_result $? 'what a server has open stays in its place'
stop new.db
ln -s empty.db way.db
start way.db
keep empty.db
fails 4 'is in use' timeout "$patience" "$TBENCH" serve db=own.db backup=empty.db
in_place empty.db && [ "$(documents way.db)" = 5 ]
tap_result $? 'also by another name'
stop way.db
echo 'some notes' > notes.txt
head -c 5000 /dev/zero > zeroes
{ printf 'SQLite format 3\0'; head -c 5000 /dev/zero; } > damaged.db
for name in notes.txt zeroes damaged.db; do
  keep "$name"
  fails 2 'is no database of tbench serve' timeout "$patience" "$TBENCH" serve db=own.db "backup=$name"
  untouched "$name"
  tap_result $? "and it is untouched: $name"
done
if command -v python3 > /dev/null; then
  python3 -c 'import sqlite3; db = sqlite3.connect("foreign.db"); db.execute("CREATE TABLE meta(name TEXT PRIMARY KEY, value)"); db.execute("INSERT INTO meta VALUES(\"version\", 2)"); db.commit()'
  keep foreign.db
  fails 2 'is no database of tbench serve' timeout "$patience" "$TBENCH" serve db=own.db backup=foreign.db
  untouched foreign.db
  tap_result $? 'a database of something else is untouched'
fi
mkfifo pipe
mkdir folder
for name in pipe folder; do
  fails 2 'is no regular file' timeout "$patience" "$TBENCH" serve db=own.db "backup=$name"
done
[ -p pipe ] && [ -d folder ]
tap_result $? 'what is no file is untouched'
ln -s nowhere dangling
fails 2 'is a link that leads nowhere' timeout "$patience" "$TBENCH" serve db=own.db backup=dangling
[ -L dangling ] && [ ! -e nowhere ]
tap_result $? 'as is a link that leads nowhere'
for end in wal journal; do
  echo 'changes of a database that is gone' > "gone.db-$end"
  fails 2 "gone.db-$end" timeout "$patience" "$TBENCH" serve db=own.db backup=gone.db
  [ ! -e gone.db ]
  tap_result $? "no copy is put beside a log that would go into it: -$end"
  rm "gone.db-$end"
done
start new.db
add new.db 1 300
kill -9 "${servers[new.db]}"
wait "${servers[new.db]}" 2> /dev/null
fails 2 'new.db-wal' timeout "$patience" "$TBENCH" serve db=own.db backup=new.db
start new.db
[ "$(documents new.db)" = 7 ]
tap_result $? 'nor in the place of a database whose server was killed: what it acknowledged is there'
stop new.db
fails 4 'absent/copy.db' timeout "$patience" "$TBENCH" serve db=own.db backup=absent/copy.db
# A copy that cannot be finished leaves what was there.
keep new.db
run bash -c 'ulimit -f 20; exec timeout "$1" "$0" db=own.db backup=new.db' "$program" "$patience"
[ "$status" -eq 4 ] && untouched new.db && [ -z "$(find . -name '*.part*')" ]
tap_result $? 'a copy for which there is no room leaves the earlier one, and nothing else'

# --- a database that is not there ---
: > nothing.db
for word in token=list token=remove:1 backup=copy2.db; do
  fails 4 'there is no database' "$TBENCH" serve db=absent.db "$word"
  fails 4 'there is no database' "$TBENCH" serve db=nothing.db "$word"
done
[ ! -e absent.db ] && [ ! -e copy2.db ] && [ ! -s nothing.db ]
tap_result $? 'and none is made'
run "$TBENCH" serve db=early.db token=new
[ "$status" -eq 0 ] && [[ $out == *'token for writing, shown this once: '* ]]
tap_result $? 'a token may be made before the first server is'

# --- addresses ---
for port in 65536 99999 -1 4294967297 x 80x; do
  fails 2 'the port is a whole number from 0 to 65535' timeout "$patience" "$TBENCH" serve db=own.db "listen=127.0.0.1:$port"
done
fails 2 'the port is a whole number from 0 to 65535' timeout "$patience" "$TBENCH" serve db=own.db 'listen=[::1]:99999'

# --- requests ---
# answers CODE TEXT NAME
answers() {
  ask own.db "$2"
  [[ $out == "HTTP/1.1 $1 "* ]]
  tap_result $? "$3"
}
closing='Connection: close\r\n\r\n'
answers 200 "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n$closing" 'a request with a Host header'
answers 400 "GET /health HTTP/1.1\r\n$closing" 'without one it is refused'
[[ $out == *'a request has one Host header'* ]]
tap_result $? 'and told why'
answers 400 "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n$closing" 'as with two'
answers 400 "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nhost: evil.example\r\n$closing" 'of which one is another'
answers 200 "GET /health HTTP/1.0\r\n$closing" 'HTTP/1.0 may come without'
answers 400 "GET /health HTTP/1.0\r\nHost: a\r\nHost: b\r\n$closing" 'and not with two'
answers 404 "GET /%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n$closing" 'a zero in a path does not end it'
answers 404 "GET /health%00x HTTP/1.1\r\nHost: 127.0.0.1\r\n$closing" 'wherever it is'

# A zero as it is: libmicrohttpd hands over texts that end there, and nothing that says that there was more. So the request is what stands before the
# zero, and gets what that one gets without it: nothing behind it lets in, is stored, or hides a second Host.
zero='\0000'
document='Content-Type: application/json\r\nContent-Length: 2\r\n'
answers 200 "GET /health${zero}x HTTP/1.1\r\nHost: 127.0.0.1\r\n$closing" 'of a path with a bare zero the part before it is asked for'
answers 404 "GET /nothing$zero/../health HTTP/1.1\r\nHost: 127.0.0.1\r\n$closing" 'not what stands behind it'
answers 400 "GET /api/v1/cases?limit=x$zero&limit=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n$closing" 'also in an argument'
answers 405 "GE${zero}T /health HTTP/1.1\r\nHost: 127.0.0.1\r\n$closing" 'and in a method'
answers 400 "GET /health HTTP/1.1$zero\r\nHost: 127.0.0.1\r\n$closing" 'behind the version it is refused'
answers 421 "GET /health HTTP/1.1\r\nHost: evil.example${zero}127.0.0.1\r\n$closing" 'a name that is not ours stays one with ours behind a zero'
answers 400 "GET /health HTTP/1.1\r\nHost: 127.0.0.1$zero\r\nHost: evil.example\r\n$closing" 'a zero hides no second Host'
answers 400 "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nHost$zero: evil.example\r\n$closing" 'a header whose name has one is refused'
answers 401 "POST /api/v1/results$zero HTTP/1.1\r\nHost: 127.0.0.1\r\n$document$closing{}" 'writing needs a token all the same'
answers 401 "POST /api/v1/results HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer x$zero$token\r\n$document$closing{}" 'and not one behind a zero'
answers 400 "POST /api/v1/results HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer $token\r\nContent-Type: application/json\r\nContent-Length: 2${zero}00\r\n$closing{}" 'the length of a body is what stands before it'
[[ $out == *"lacks 'schema'"* ]]
tap_result $? 'so that the body is that long'
[ "$(documents own.db)" = 6 ]
tap_result $? 'and nothing of all that was stored'

# --- the last token ---
number=$("$TBENCH" serve db=own.db token=list | sed -n 's/^\([0-9]*\)  write .*/\1/p')
"$TBENCH" serve db=own.db "token=remove:$number"
stop own.db
! grep -q 'nothing can write' own.db.err
tap_result $? 'with a token for writing nothing is said'
start own.db
await "${servers[own.db]}" grep -q 'nobody can write, since there is no token' own.db.err
grep -q 'nobody can write, since there is no token for writing any more; make one: tbench serve db=own.db token=new' own.db.err
tap_result $? 'a server without one says so'
stop own.db
tap_end
