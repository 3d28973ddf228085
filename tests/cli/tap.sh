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
# end_hurried: Ctrl-C again and again until it is gone (two at once are one to the system), then as `end`.
end_hurried() {
  await '' hurry "$pid"
  end
}
hurry() { ! kill -INT "$1" 2> /dev/null; }

# The seconds that something may take to come: enough on the slowest machine, since a wait ends as soon as it is there, or cannot come any more.
patience=300
# await PROCESS COMMAND…: tries COMMAND until it succeeds; fails once PROCESS ('': nobody's) has ended without that, or patience is over.
await() {
  local process=$1 end=$((SECONDS + patience)) gone=
  shift
  until "$@"; do
    [ -z "$gone" ] && [ "$SECONDS" -lt "$end" ] || return 1
    [ -z "$process" ] || kill -0 "$process" 2> /dev/null || gone=yes # what it did last is looked at once more
    sleep 0.05
  done
}
is_gone() { ! kill -0 "$1" 2> /dev/null; }

# server_begin NAME COMMAND…: begins a server of ours in the background (output in NAME.out and NAME.err) and waits until it says where it
# is, or has ended. Leaves its process in $server, its HOST:PORT in $address ("": it is not up) and, where it showed one, $token.
# shellcheck disable=SC2034
server_begin() {
  local name=$1 shown
  shift
  : > "$name.out"
  "$@" > "$name.out" 2> "$name.err" < /dev/null &
  server=$! address=
  await "$server" says_address "$name.out"
  shown=$(sed -n 's/^token for writing, shown this once: //p' "$name.out")
  [ -z "$shown" ] || token=$shown
}
says_address() {
  address=$(sed -nE 's,^(serving at|page:) http://(.*)/$,\2,p' "$1")
  [ -n "$address" ]
}
# server_end PROCESS: asks it to end, and leaves its status in $stopped: not 0 where it had to be killed.
# shellcheck disable=SC2034
server_end() {
  kill -TERM "$1"
  await '' is_gone "$1"
  kill -KILL "$1" 2> /dev/null
  wait "$1"
  stopped=$?
}

# tap_skip NAME WHY: one that cannot be tried here; it is counted, so that nobody takes it for one that passed.
tap_skip() {
  tap_count=$((tap_count + 1))
  echo "ok $tap_count - $1 # SKIP $2"
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
