#!/bin/bash
# The pages of `tbench serve` in a real browser (headless Chromium): charts are drawn from the data, nothing is complained of, they are drawn at
# 400 pixels, and without JavaScript the tables say the same.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

serve=$(dirname "$TBENCH")/tbench-serve
browser=$(command -v chromium || command -v chromium-browser || true)
for needed in "$serve" "${browser:-/nowhere}" /usr/share/javascript/dygraphs/dygraph.min.js; do
  if [ ! -e "$needed" ]; then
    echo "1..0 # SKIP without $needed (Debian packages: chromium, libjs-dygraphs; tbench built with its server)"
    exit 0
  fi
done

"$serve" db=page.db listen=127.0.0.1:0 > server.out 2> server.err < /dev/null &
server=$!
trap 'kill -9 "$server" 2> /dev/null' EXIT
for _ in $(seq 200); do
  address=$(sed -n 's,^serving at http://\(.*\)/$,\1,p' server.out)
  [ -n "$address" ] && break
  sleep 0.05
done
token=$(sed -n 's/^token for writing, shown this once: //p' server.out)
# Every 500th document is of the same case: 30 runs of it.
for n in $(seq 30); do
  "${builddir:?}/tests/device/bench_serve" "$address" "$token" connections=1 documents=1 "first=$((n * 500))" > /dev/null
done
case_page='/case?case=load/case0/inductor/default/cpu/f32/b8/machine/t2'
sleep 2

# look PATH OPTION…: the page as the browser has it when its scripts have run ($out), and what it complained of ($complaints).
look() {
  local path=$1
  shift
  out=$(timeout 60 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$PWD/profile" --enable-logging=stderr --v=0 --virtual-time-budget=8000 \
    --dump-dom "$@" "http://$address$path" 2> browser.err < /dev/null)
  complaints=$(grep -E 'CONSOLE|Refused to' browser.err || true)
  status=$? err=$complaints
}

for path in / /cases /regressions "$case_page" '/compare?base=commit0&head=commit1'; do
  look "$path"
  [ -n "$out" ] && [ -z "$complaints" ]
  tap_result $? "no error in the console: $path"
done
look "$case_page"
[ "$(grep -o 'class="chart drawn"' <<< "$out" | wc -l)" -ge 3 ] && [[ $out == *'30 runs'* && $out == *'<canvas'* && $out == *'role="application"'* ]]
tap_result $? 'charts are drawn, and can be reached by keys'
! grep -oE '(src|href)="?(https?:)?//[^">]*' <<< "$out"
tap_result $? 'nothing comes from elsewhere'

# picture NAME WIDTH PATH OPTION…: NAME.png, as wide as it was asked for.
picture() {
  local name=$1 width=$2 path=$3
  shift 3
  timeout 60 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$PWD/profile" --hide-scrollbars "--window-size=$width,900" --virtual-time-budget=8000 \
    "$@" --screenshot="$PWD/$name.png" "http://$address$path" > /dev/null 2>&1
  [ "$(od -An -tu1 -j16 -N8 "$name.png" | awk '{ print $3 * 256 + $4 "x" $7 * 256 + $8 }')" = "${width}x900" ]
}
for path in / "$case_page" /regressions; do
  picture narrow 400 "$path"
  tap_result $? "it is drawn at 400 pixels: $path"
done
picture wide 3840 "$case_page"
tap_result $? 'and at 4K'
picture light 1200 "$case_page" && picture dark 1200 "$case_page" --blink-settings=preferredColorScheme=0 && ! cmp -s light.png dark.png
tap_result $? 'dark differs from light'

# Without JavaScript: the page as the server gives it, without its scripts (headless Chromium cannot turn them off), with its style within it.
fetch() {
  exec 9<> "/dev/tcp/${address%:*}/${address#*:}"
  printf 'GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$1" "$address" >&9
  timeout 20 sed '1,/^\r$/d' <&9
  exec 9>&-
}
{
  echo '<style>'
  fetch /static/style.css
  echo '</style>'
  fetch "$case_page" | sed 's,<script[^>]*></script>,,g; s,<link[^>]*>,,g'
} > plain.html
look_plain() { timeout 60 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$PWD/profile" --hide-scrollbars "$@" "file://$PWD/plain.html" 2> /dev/null < /dev/null; }
out=$(look_plain --dump-dom)
look_plain --window-size=1200,900 "--screenshot=$PWD/plain.png"
[[ $out != *'<canvas'* && $out != *'<script'* && $out == *'<table>'* && $out == *'2025-01-01'* && $out == *'format=csv'* ]] && [ -s plain.png ] && ! cmp -s light.png plain.png
tap_result $? 'without JavaScript there are tables, and links to the data'
kill -TERM "$server"
wait "$server"
status=$?
trap - EXIT
[ "$status" -eq 0 ]
tap_result $? 'the server ends in order'
tap_end
