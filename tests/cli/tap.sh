# TAP for command-line tests; sourced. Each test: check NAME CONDITION…, with `run` before it.
# run COMMAND…: leaves its output in $out (standard output), $err (standard error) and its exit status in $status.

tap_count=0 tap_failed=0
: "${TBENCH:?names the program}" "${TEST_TMP:=$(mktemp -d)}"
cd "$TEST_TMP" || exit 1

run() {
  "$@" > out.text 2> err.text < /dev/null
  status=$?
  out=$(cat out.text) err=$(cat err.text)
}

# begin COMMAND…: begins it in a session of its own and leaves its $pid; `end` waits for it and leaves what `run` does. What an earlier
# command printed is gone at once: a wait for this one's progress must not see it.
begin() {
  : > out.text
  : > err.text
  setsid "$@" > out.text 2> err.text < /dev/null &
  pid=$!
}
end() {
  wait "$pid" 2> /dev/null
  status=$?
  out=$(cat out.text) err=$(cat err.text)
}

# tap_result STATUS NAME: one result; on failure everything that is known is shown.
tap_result() {
  local good=$1
  shift
  tap_count=$((tap_count + 1))
  if [ "$good" -eq 0 ]; then
    echo "ok $tap_count - $*"
    return
  fi
  tap_failed=$((tap_failed + 1))
  echo "not ok $tap_count - $*"
  { echo "status $status"; echo "$out" | head -n 20; echo "$err" | head -n 20; } | sed 's/^/# /'
}

# fails CODE TEXT COMMAND…: the command exits with CODE and says TEXT (a fixed string) on standard error.
fails() {
  local code=$1 text=$2
  shift 2
  run "$@"
  [ "$status" -eq "$code" ] && [[ $err == *"$text"* ]]
  tap_result $? "exit $code, says '$text': ${*##*/}"
}

tap_end() {
  echo "1..$tap_count"
  exit $((tap_failed > 0))
}
