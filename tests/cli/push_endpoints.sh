#!/bin/bash
# Push to the endpoints themselves, where they are installed: VictoriaMetrics, InfluxDB, a Prometheus Pushgateway and LNT, each started here
# on loopback; what was pushed is asked back. Sent a second time, it changes nothing.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

if ! command -v python3 > /dev/null; then
  echo "ok 1 - endpoints # SKIP there is no python3 to ask them with"
  echo "1..1"
  exit
fi
export XDG_STATE_HOME=$TEST_TMP/state HOME=$TEST_TMP
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy TBENCH_TOKEN
servers=()
trap 'kill "${servers[@]}" 2> /dev/null; wait' EXIT

# A result of a minute ago, for some endpoints take nothing old: the steady times of two cases are 1000 and 2000 ns.
python3 - > result.json <<'EOL'
import json, time
at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60))
case = lambda n: {"id": f"s/w/inductor/default/cpu/f32/b{n}/machine/t1", "env": 0, "outcome": "ok", "error": None, "steady": {"median_ns": 1000 * n},
                  "case": {"suite": "s", "workload": "w", "backend": "inductor", "mode": "default", "device": "cpu", "dtype": "f32", "batch": n,
                           "params": {}, "topology": "machine", "threads": 1, "switches": {}}}
print(json.dumps({"schema": 1, "tbench": {"version": "0", "commit": "c", "build": "b", "artifact_abi": 1}, "started": at, "finished": at, "seed": 1,
                  "environments": [{"host": "h"}], "cases": [case(1), case(2)]}))
EOL

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# ask URL [BODY]: what it answers; fails where it says no.
ask() { python3 -c 'import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], sys.argv[2].encode() if len(sys.argv) > 2 else None, timeout=300).read().decode())' "$@" 2> /dev/null; }
answers() { ask "$1" > /dev/null; }
# start READY PROGRAM ARGUMENTS…: until READY is answered.
start() {
  local ready=$1
  shift
  "$@" > server.log 2>&1 < /dev/null &
  servers+=($!)
  await $! answers "$ready"
}
# pushed FORMAT TO…: twice.
pushed() {
  run "$TBENCH" push result.json to="$2" format="$1" tries=2 wait=0.1
  [ "$status" -eq 0 ] && [[ $out == '1 sent, 0 known already, 0 spooled, 0 refused' ]]
  tap_result $? "$1 is taken"
  run "$TBENCH" push result.json to="$2" format="$1" tries=2 wait=0.1
  [ "$status" -eq 0 ] && [[ $out == '1 sent, 0 known already, 0 spooled, 0 refused' ]]
  tap_result $? "$1 is taken a second time"
}
skipped() {
  tap_count=$((tap_count + 1))
  echo "ok $tap_count - $1 # SKIP it is not installed"
}

if command -v victoria-metrics > /dev/null; then
  port=$(free_port) url=http://127.0.0.1:$port
  start "$url/health" victoria-metrics -storageDataPath="$PWD/vm" -httpListenAddr="127.0.0.1:$port" -retentionPeriod=100y -memory.allowedBytes=128MB -dedup.minScrapeInterval=1ms
  pushed victoriametrics "$url"
  ask "$url/internal/force_flush" > /dev/null
  out=$(ask "$url/api/v1/export?match=tbench_steady_seconds")
  [ "$(wc -l <<< "$out")" -eq 2 ] && [[ $out == *'"batch":"1"'* && $out == *'"values":[0.000001]'* && $out == *'"values":[0.000002]'* ]]
  tap_result $? 'VictoriaMetrics has two series with one value each'
  pushed influx "$url/write?db=b"
  ask "$url/internal/force_flush" > /dev/null
  out=$(ask "$url/api/v1/export?match=tbench_steady_ns")
  [ "$(wc -l <<< "$out")" -eq 2 ] && [[ $out == *'"values":[1000]'* && $out == *'"values":[2000]'* ]]
  tap_result $? "also by InfluxDB's protocol"
  pushed influx "$url?org=o&bucket=b"
else
  skipped VictoriaMetrics
fi

if command -v influxd > /dev/null; then
  port=$(free_port) url=http://127.0.0.1:$port
  touch none.conf
  start "$url/ping" env INFLUXDB_HTTP_BIND_ADDRESS="127.0.0.1:$port" INFLUXDB_BIND_ADDRESS="127.0.0.1:$(free_port)" INFLUXDB_META_DIR="$PWD/meta" INFLUXDB_DATA_DIR="$PWD/data" \
    INFLUXDB_DATA_WAL_DIR="$PWD/wal" INFLUXDB_REPORTING_DISABLED=true influxd -config none.conf
  run "$TBENCH" push result.json to="$url/write?db=b" format=influx tries=1
  [ "$status" -eq 4 ] && [[ $out == *'1 spooled, 0 refused'* && $err == *'database not found'* ]]
  tap_result $? "what InfluxDB lacks is told in its words, and the document waits"
  ask "$url/query" 'q=CREATE%20DATABASE%20b' > /dev/null
  run "$TBENCH" push spooled=yes
  [ "$status" -eq 0 ] && [[ $out == '1 sent'* ]]
  tap_result $? 'and mended, it is sent again'
  pushed influx "$url/write?db=b"
  out=$(ask "$url/query?db=b&q=SELECT%20count(steady_ns),sum(steady_ns)%20FROM%20tbench")
  [[ $out == *',2,3000]'* ]]
  tap_result $? 'InfluxDB has two points, each once'
else
  skipped InfluxDB
fi

if command -v prometheus-pushgateway > /dev/null; then
  port=$(free_port) url=http://127.0.0.1:$port
  start "$url/-/ready" prometheus-pushgateway --web.listen-address="127.0.0.1:$port"
  pushed prometheus "$url"
  pushed prometheus "$url/metrics/job/tbench/instance/other"
  out=$(ask "$url/metrics" | grep '^tbench_steady_seconds{')
  [ "$(wc -l <<< "$out")" -eq 4 ] && [ "$(grep -c 'instance="other"' <<< "$out")" -eq 2 ] && [[ $out == *'job="tbench"'* ]]
  tap_result $? 'the Pushgateway has two groups'
  # Other suites and hosts replace none, one that is run again is replaced: also with names that a path cannot have.
  sed 's/"suite": "s"/"suite": "t"/g; s,"id": "s/,"id": "t/,g' result.json > suite.json
  sed 's/"host": "h"/"host": "a\/b ä"/; s/"median_ns": 1000/"median_ns": 3000/' result.json > host.json
  run "$TBENCH" push suite.json host.json result.json to="$url" format=prometheus tries=1
  [ "$status" -eq 0 ] && [[ $out == '3 sent, 0 known already, 0 spooled, 0 refused' ]]
  tap_result $? 'three results of other suites and hosts are taken'
  sed 's/"median_ns": 1000/"median_ns": 5000/' result.json > again.json
  run "$TBENCH" push again.json to="$url" format=prometheus tries=1
  out=$(ask "$url/metrics" | grep '^tbench_steady_seconds{' | grep -v 'instance="other"')
  [ "$(wc -l <<< "$out")" -eq 6 ] && [ "$(grep -c 'instance="a/b ä"' <<< "$out")" -eq 2 ] && [ "$(grep -c 'suites="t"' <<< "$out")" -ge 2 ] &&
    [ "$(grep 'instance="h".*suites="s"' <<< "$out" | grep -c ' 5e-06$')" -eq 1 ] && [[ $out == *' 3e-06'* ]]
  tap_result $? 'and the Pushgateway has all three, each the last of its host and suites'
else
  skipped 'Prometheus Pushgateway'
fi

if command -v lnt > /dev/null; then # PyPI: llvm-lnt
  port=$(free_port) url=http://127.0.0.1:$port
  lnt create lnt --api-auth-token secret > server.log 2>&1
  start "$url/api/db_default/v4/nts/machines" lnt runserver lnt --hostname 127.0.0.1 --port "$port"
  run "$TBENCH" push result.json to="$url" format=lnt tries=1
  [ "$status" -eq 4 ] && [[ $out == *'1 refused'* && $err == *'Auth Token must be passed'* ]]
  tap_result $? 'LNT wants its token'
  export TBENCH_TOKEN=secret
  pushed lnt "$url"
  out=$(ask "$url/api/db_default/v4/nts/machines/1")
  python3 -c 'import json, re, sys
runs, started = json.loads(sys.argv[1])["runs"], json.load(open("result.json"))["started"]
assert [run["llvm_project_revision"] for run in runs] == [re.sub("[^0-9]", "", started)], runs' "$out"
  tap_result $? 'LNT has one run, of that time'
  out=$(ask "$url/api/db_default/v4/nts/runs/1")
  [[ $out == *'"execution_time": 1e-06'*'"execution_time": 2e-06'* ]] && [ "$(grep -o execution_time <<< "$out" | wc -l)" -eq 2 ]
  tap_result $? 'and in it two tests, each once'
  sed 's/"host": "h"/"host": "h", "os": "other"/' result.json > first.json
  sed 's/"host": "h"/"host": "h", "os": "newer"/' result.json > changed.json
  run "$TBENCH" push first.json to="$url" format=lnt tries=1
  run "$TBENCH" push changed.json to="$url" format=lnt tries=1
  [ "$status" -eq 4 ] && [[ $err == *"'os' on machine 'h' changed"* ]]
  tap_result $? "LNT's refusal of a machine that changed is told in its words"
  run "$TBENCH" push changed.json to="$url?select_machine=update" format=lnt tries=1
  [ "$status" -eq 0 ] && [[ $out == '1 sent'* ]]
  tap_result $? 'and select_machine=update, as the help says, sends it'
else
  skipped LNT
fi
tap_end
