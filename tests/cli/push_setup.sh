# shellcheck shell=bash disable=SC2034
# Sourced by the tests of push, after tap.sh: endpoints of push_server.py, results, and a spool of the test's own. The endpoint in the folder e
# is at $to; $token is a secret.
if ! command -v python3 > /dev/null; then
  echo "ok 1 - push # SKIP there is no python3 to make an endpoint of"
  echo "1..1"
  exit
fi
export XDG_STATE_HOME=$TEST_TMP/state
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy TBENCH_TOKEN
spool=$XDG_STATE_HOME/tbench/spool
token=secret-token-0123456789
servers=()
trap 'kill "${servers[@]}" 2> /dev/null' EXIT

# serve FOLDER [CERTIFICATE KEY]: starts an endpoint; its port is in $port.
serve() {
  mkdir -p "$1"
  [ -e "$1/mode" ] || echo good > "$1/mode"
  rm -f "$1/port"
  python3 "$srcdir/tests/cli/push_server.py" "$@" > "$1/out" 2>&1 < /dev/null &
  servers+=($!)
  await $! test -s "$1/port"
  port=$(cat "$1/port")
}
entries() { find "$spool" -maxdepth 1 -name '*.entry' | wc -l; }
refused() { find "$spool/refused" -name "*.$1" | wc -l; }
stored() { find "${1:-e}/store" -type f | wc -l; }
requests() { cat "${1:-e}/log" 2> /dev/null | wc -l; }
# make_result FILE N: a small result that differs from others.
make_result() {
  printf '{"schema": 1, "tbench": {"version": "0", "commit": "c", "build": "b", "artifact_abi": 1}, "started": "2026-01-02T03:04:05Z", "finished": "2026-01-02T03:05:05Z", "seed": %d, "environments": [{"host": "h"}], "cases": [' "$2" > "$1"
  for i in $(seq 20); do
    printf '%s{"id": "s/w/inductor/default/cpu/f32/b%d/machine/t1", "env": 0, "case": {"suite": "s", "workload": "w", "backend": "inductor", "mode": "default", "device": "cpu", "dtype": "f32", "batch": %d, "params": {}, "topology": "machine", "threads": 1, "switches": {}}, "outcome": "ok", "speedup": {"ratio": 2.5, "lo": 2, "hi": 3}, "steady": {"median_ns": 1000}, "baseline": {"median_ns": 2500}}' "$([ "$i" -gt 1 ] && echo ', ')" "$i" "$i"
  done >> "$1"
  echo ']}' >> "$1"
}
for i in $(seq 9); do make_result "r$i.json" "$i"; done
serve e
to=http://127.0.0.1:$port
push() { "$TBENCH" push wait=0.01 "$@"; }
reset() { rm -rf "$spool" e/store/* e/log; echo "$*" > e/mode; }
