#!/bin/bash
# ci/demo: the steps that it plants are what the server finds, at those commits, and there are no others.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

if [ ! -x "$(dirname "$TBENCH")/tbench-serve" ]; then
  echo "1..0 # SKIP tbench-serve is not built (libmicrohttpd-dev, libsqlite3-dev, libssl-dev)"
  exit 0
fi
nights=365 # more than a server looks at at once: what it found before has to stay

mkdir once again
"$TBENCH" lua "$srcdir/examples/demo/history.lua" once $nights && "$TBENCH" lua "$srcdir/examples/demo/history.lua" again $nights
status=$? out=$(diff -rq once again 2>&1)
[ "$status" -eq 0 ] && [ -z "$out" ] && [ "$(find once -type f | wc -l)" -eq $((2 * nights + 1)) ]
tap_result $? 'the same history each time'
fails 2 '60 or more' "$TBENCH" lua "$srcdir/examples/demo/history.lua" once 59
fails 1 "what is 'night=3'?" "$srcdir/ci/demo" night=3
fails 1 'build it' "$srcdir/ci/demo" tbench=./none
fails 1 'db= names no file' "$srcdir/ci/demo" tbench="$TBENCH" db=
fails 1 'the server did not start' "$srcdir/ci/demo" tbench="$TBENCH" nights=60 listen=nowhere
fails 1 'nothing.db cannot be used' "$srcdir/ci/demo" tbench="$TBENCH" nights=60 db=deeper/nothing.db
cat > gone <<'EOL'
#!/bin/bash
# A program whose server ends once it has said where it is.
case "$*" in
  lua*) touch "$3/0001-nightly-a.json" "$3/planted.txt" ;;
  *token=new) echo tb_write_0 ;;
  serve*) echo 'serving at http://127.0.0.1:1/'; echo 'no more' >&2 ;;
esac
EOL
chmod +x gone
fails 1 'the server ended: no more' "$srcdir/ci/demo" tbench=./gone
if command -v chromium > /dev/null; then
  fails 1 'screenshots=out.text/x cannot be made' "$srcdir/ci/demo" tbench="$TBENCH" screenshots=out.text/x
fi

trap '[ -z "$server" ] || kill -TERM "$server" 2> /dev/null' EXIT
server=
# Some 2,800 times it waits for the disk.
patience=1500 server_begin demo "$srcdir/ci/demo" tbench="$TBENCH" nights=$nights listen=127.0.0.1:0
out=$(cat demo.out) err=$(cat demo.err)
[ -n "$address" ]
tap_result $? 'it fills a database and says where the page is'

# fetch PATH: the body of the answer, a line for each object in it.
fetch() {
  exec 9<> "/dev/tcp/${address%:*}/${address#*:}" || return
  printf 'GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "${1// /%20}" "$address" >&9
  timeout "$patience" sed '1,/^\r$/d' <&9 | sed 's/[{]/\n{/g'
  exec 9>&-
}
member() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
# What a list of the API says of each row, in the form of planted.txt without the ratio.
rows_of() {
  local line closed
  grep '^{"case"' | while read -r line; do
    closed=$(member closed_commit <<< "$line")
    printf '%s\t%s\t%s\tslower\t%s\n' "$(member case <<< "$line")" "$(member machine <<< "$line")" "$(member commit <<< "$line")" "${closed:--}"
  done | LC_ALL=C sort
}
# same WANTED FOUND NAME
same() {
  status=0 out=$(diff <(printf '%s\n' "$1") <(printf '%s\n' "$2")) err=
  [ -n "$1" ] && [ -z "$out" ]
  tap_result $? "$3"
}
planted=$(cut -f1-4,6 once/planted.txt | LC_ALL=C sort)
slower=$(awk -F '\t' '$4 == "slower"' <<< "$planted")
same "$(grep -- '-$' <<< "$slower")" "$(fetch '/api/v1/regressions?state=open' | rows_of)" 'regressions that are open are those that were planted'
same "$(grep -v -- '-$' <<< "$slower")" "$(fetch '/api/v1/regressions?state=closed' | rows_of)" 'so are those that were taken back, with the commit that did'

# Every change point of every case, of the wins and of what takes a step back too.
wanted=$(awk -F '\t' -v OFS='\t' '{ print $1, $2, $3, $4 } $5 != "-" { print $1, $2, $5, $4 == "slower" ? "faster" : "slower" }' <<< "$planted" | LC_ALL=C sort)
found=$(fetch '/api/v1/cases?limit=1000' | grep '^{"case"' | while read -r line; do
  case=$(member case <<< "$line") machine=$(member machine <<< "$line")
  fetch "/api/v1/changes?case=$case&machine=$machine" | grep '^{"started_ms"' | while read -r change; do
    [[ $change == *'"slower":1'* ]] && way=slower || way=faster
    printf '%s\t%s\t%s\t%s\n' "$case" "$machine" "$(member commit <<< "$change")" "$way"
  done
done | LC_ALL=C sort)
same "$wanted" "$found" 'change points are at the planted commits, and nowhere else'
# What moved is judged over all cases together, some time after the last of them was looked at.
see_what_moved() {
  out=$(fetch /api/v1/overview)
  moved=$(sed -n '/"moved"/,/"failed"/p' <<< "$out")
  steps_moved && [[ $moved != *'"basis":"point"'* ]]
}
steps_moved() { [[ $moved == *'"case":"transformer/'*'"verdict":"SLOWER","basis":"step"'* && $moved == *'"case":"pointwise/trig/'*'"verdict":"FASTER","basis":"step"'* ]]; }
await "$server" see_what_moved
steps_moved
tap_result $? 'the newest steps are what moved'
[[ $moved != *'"basis":"point"'* ]]
tap_result $? 'and no single night'
failed=$(sed -n '/"failed"/,/"by_verdict"/p' <<< "$out" | sed 1d | grep '^{"case"')
[[ $failed == *'"case":"attention/'*'"machine":"nightly-b'*timeout* ]] && [ "$(wc -l <<< "$failed")" -eq 1 ]
tap_result $? 'the case that fails is shown, and no other'
commit_of() { grep -o '"commit":"[0-9a-f]*"' "once/$1-nightly-a.json" | head -n 1 | cut -d'"' -f4; }
out=$(fetch "/compare?base=$(commit_of 0355)&head=$(commit_of 0365)&machine=nightly-a · Example CPU 3.2 GHz")
[[ $out == *'kernels 6 -&gt; 7'* && $out != *'graphs 1'* ]]
tap_result $? 'the comparison of two nights tells which exact figures changed, and those alone'

server_end "$server"
status=$stopped err=$(cat demo.err)
trap - EXIT
[ "$status" -eq 0 ]
tap_result $? 'it ends in order'
tap_end
