#!/bin/bash
# The pages of `tbench serve` in a real browser (headless Chromium), filled with the history of examples/demo: page_views.py looks at them at 400
# pixels and at 4K, light and dark, without JavaScript and by keys, and page_documents.py makes what the history lacks.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

serve=$(dirname "$TBENCH")/tbench-serve
browser=$(command -v chromium || command -v chromium-browser || true)
for needed in "$serve" "${browser:-/nowhere}" /usr/share/javascript/dygraphs/dygraph.min.js "$(command -v python3 || echo /nowhere)"; do
  if [ ! -e "$needed" ]; then
    echo "1..0 # SKIP without $needed (Debian packages: chromium, libjs-dygraphs, python3; tbench built with its server)"
    exit 0
  fi
done
nights=75 # more than a page of runs shows

trap '[ -z "$server" ] || kill -9 "$server" 2> /dev/null' EXIT
server=
server_begin server "$serve" db=page.db listen=127.0.0.1:0
export TBENCH_TOKEN=$token

mkdir history more pictures
"$TBENCH" lua "$srcdir/examples/demo/history.lua" history $nights
newest=$(find history -name '*.json' | LC_ALL=C sort | tail -n 1)
python3 -B "$srcdir/tests/cli/page_documents.py" "$newest" more
run "$TBENCH" push history/*.json more/*.json "to=http://$address" spool=spool
[ "$status" -eq 0 ]
tap_result $? 'the server takes all results'

# The server looks at each case once its points have come.
answer() {
  exec 9<> "/dev/tcp/${address%:*}/${address#*:}"
  printf 'GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$1" "$address" >&9
  timeout "$patience" cat <&9
  exec 9>&-
}
fetch() { answer "$1" | sed '1,/^\r$/d'; }
has_looked() { [ "$(fetch /metrics | sed -n 's/^tbench_series_waiting //p')" = 0 ]; }
await "$server" has_looked
tap_result $? 'and has looked at each of their cases'

python3 -B "$srcdir/tests/cli/page_views.py" "$browser" "$PWD/profile" "$address" "$PWD/pictures" > views.text 2> views.err
status=$? out=$(cat views.text) err=$(tail -n 5 views.err)
[ "$status" -eq 0 ]
tap_result $? 'the browser was asked everything'
while IFS=$'\t' read -r good name out; do
  [ "$good" = ok ]
  tap_result $? "$name"
done < views.text

for path in '/cases?limit=x' '/regressions?state=ajar' '/ablation?figure=none' '/ablation?key=x' '/api/v1/series?case=x&figures=none' '/api/v1/compare?format=xml' '/case?case=x&before=y'; do
  out=$(answer "$path")
  [[ $out == 'HTTP/1.1 400 '* ]]
  tap_result $? "what is not to be answered is refused: $path"
done
out=$(fetch /case?case=many/c0001/inductor/default/cpu/f32/b8/machine/t4)
! grep -oE '(src|href)="?(https?:)?//[^">]*' <<< "$out"
tap_result $? 'nothing comes from elsewhere'
[[ $out == *'first &amp; &lt;host&gt;'* && $out != *'<host>'* ]]
tap_result $? 'and what comes from outside is escaped'

server_end "$server"
status=$stopped
trap - EXIT
[ "$status" -eq 0 ]
tap_result $? 'the server ends in order'
tap_end
