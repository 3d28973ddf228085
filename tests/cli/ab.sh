#!/bin/bash
# tbench ab: what it takes, two sides in one run, controls, whose change a difference is, what fails, and what it leaves. Times are not
# looked at: where a verdict is, one side does many times the other's work.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

cat > tiny.lua <<'EOL'
local tb = require "tbench"
return tb.suite {
  name = "tiny", timeout = 120,
  workloads = {
    chain = function(case)
      return { fn = function(x) for _ = 1, 24 do x = x * 1.01 + 0.5 end return x end, args = { tb.randn({ 1 << 18 }, case) } }
    end,
    small = function(case) return { fn = function(x) return x + 1 end, args = { tb.randn({ 64 }, case) } } end,
    sweeps = function(case) return os.execute('rm -rf swept') and { fn = function(x) return x + 1 end, args = { tb.randn({ 64 }, case) } } end,
    leaves = function(case) return { fn = function() os.exit(7) end, args = {} } end,
  },
}
EOL
seconds=1
ab() { run "$TBENCH" ab suite=./tiny.lua seconds="$seconds" threads=1 "$@"; }
has() { # FILE TEXT…: the document says each
  local file=$1 text
  shift
  for text in "$@"; do grep -qF -- "$text" "$file" || return 1; done
}

# --- what it takes ---
fails 2 'say what differs' "$TBENCH" ab suite=./tiny.lua
fails 2 "did you mean 'fuse'" "$TBENCH" ab suite=./tiny.lua head.fuze=off
fails 2 'base=./none: No such file' "$TBENCH" ab suite=./tiny.lua base=./none
fails 2 'head=tiny.lua is not a program' "$TBENCH" ab suite=./tiny.lua head=tiny.lua
fails 2 'head.cache_dir does not change any figure' "$TBENCH" ab suite=./tiny.lua head.cache_dir=.
fails 2 'seconds=0: use a whole number' "$TBENCH" ab suite=./tiny.lua base=self seconds=0
fails 2 'pairs=1: use a whole number' "$TBENCH" ab suite=./tiny.lua base=self pairs=1
fails 2 'attribute=perhaps: use yes or no' "$TBENCH" ab suite=./tiny.lua base=self attribute=perhaps
fails 2 'format=csv: use one of console, json, markdown, html, junit' "$TBENCH" ab suite=./tiny.lua base=self format=csv
fails 2 'none.lua: No such file' "$TBENCH" ab suite=./tiny.lua base=self policy=none.lua
fails 2 "takes no 'changed-since'" "$TBENCH" ab suite=./tiny.lua base=self changed-since=x.json
for option in replicates=3 replicates-max=3 target=1% budget=9 --quick share=10%; do fails 2 "takes no '" "$TBENCH" ab suite=./tiny.lua base=self "$option"; done
fails 2 "takes no 'replicates'; pairs=N says" "$TBENCH" ab suite=./tiny.lua base=self replicates=3
fails 2 'suite=NAME is missing' "$TBENCH" ab base=self
ab workload=small,chain base=self dry-run=yes
[ "$status" -eq 0 ] && [ "$(grep -c 'side=base' <<< "$out")" -eq 2 ] && [ "$(grep -c 'side=head' <<< "$out")" -eq 2 ] && [ ! -e results ]
tap_result $? 'a dry run lists both sides of each case and leaves nothing'

# --- the same on both sides ---
ab workload=small base=self head=self pairs=4 out=control.json
{ [ "$status" -eq 0 ] || [ "$status" -eq 3 ]; } && has control.json '"kind":	"comparison"' '"control":	true' '"stop_reason":	"' && [[ $out == *'(control: same artifact, same program)'* ]]
tap_result $? 'a program against itself is a control, and never a regression'
[ "$(sed -n 's/.*"base_process_ns":	\[\(.*\)\].*/\1/p' control.json | tr ',' '\n' | wc -l)" -ge 2 ]
tap_result $? 'the times that it tells are those of the pairs'
ab workload=small head.opt.key_cache=off pairs=4 out=switch.json
has switch.json '"control":	false' '"what":	"this program opt.key_cache=off"'
tap_result $? 'with another switch it is no control'

# --- whose change it is ---
seconds=60 # at most, beside other work; a quiet machine needs less than one
cp "$TBENCH" copy && echo 'another program with the same generators' >> copy
ab workload=chain head=./copy head.fuse=off out=fuse.json
[ "$status" -eq 1 ] && [[ $out == *'SLOWER, confirmed by fresh pairs'* && $out == *'kernels 1 -> 48'* ]] &&
  [[ $out == *"head's compiler output on base's runtime / base: "*" SLOWER"* ]] && ! grep -q "base's compiler output on head's runtime / base: .* SLOWER" <<< "$out"
tap_result $? 'less fusion in another program is the compiler'\''s output'
ab workload=small head=./copy head.spin_ns=300000 out=spin.json
[ "$status" -eq 1 ] && [[ $out == *'the artifact is the same: the cause is the runtime, or a switch of it'* ]] && has spin.json '"why_not":	"the artifact is the same'
tap_result $? 'a planted slowdown is the runtime'
ab workload=small base.spin_ns=300000 attribute=no out=faster.json
[ "$status" -eq 0 ] && [[ $out == *FASTER* ]] && has faster.json '"attribution":	null'
tap_result $? 'the other way round it is faster, which is no regression; attribute=no asks no more'

# --- failures, and what is left ---
seconds=1
ab workload=leaves,small head.opt.key_cache=off pairs=4 out=leaves.json
[ "$status" -eq 4 ] && [[ $out == *'exited early with status 7'* ]]
tap_result $? 'a side that crashes exits with 4, and the other case is measured'
for side in base head; do
  ab workload=small "$side=/bin/true" pairs=4 out=true.json
  [ "$status" -eq 4 ] && [[ $out == *"$side: crashed"* ]]
  tap_result $? "as does a program that is none of ours, as $side"
done
# --- programs of other versions ---
cat > newer <<'EOL'
#!/bin/bash
printf '{"ok": true, "hello": {"protocol": 99}}\n' >&3
read -r _ <&3
EOL
cat > older <<'EOL'
#!/usr/bin/env python3
"""The worker of this program, whose hello lacks what those of before did not say."""
import json, os, socket, sys, threading

ours, its = socket.socketpair()
if not os.fork():
    os.dup2(its.fileno(), 3)
    os.execv(os.environ["TBENCH"], ["tbench", *sys.argv[1:]])
its.close()
harness = socket.socket(fileno=3)
lines = ours.makefile("rb")
hello = json.loads(lines.readline())
del hello["hello"]["protocol"]
harness.sendall(json.dumps(hello).encode() + b"\n")

def ask():
    while request := harness.recv(1 << 16):
        ours.sendall(request)
    os._exit(0)

threading.Thread(target=ask).start()
for line in lines:
    harness.sendall(line)
os._exit(0)
EOL
chmod +x older newer
if command -v python3 > /dev/null; then
  ab workload=small head=./older head.spin_ns=300000 pairs=4 attribute=no out=older.json
  [ "$status" -eq 1 ] && [[ $out == *SLOWER* ]] && has older.json '/older"'
  tap_result $? 'a program that tells no protocol is measured as one that does'
else
  tap_skip 'a program that tells no protocol' 'no python3'
fi
ab workload=small base=./newer pairs=4 out=newer.json
[ "$status" -eq 4 ] && [[ $out == *'base: error: the worker speaks protocol 99, and this program no later one than 1: run the newer tbench'* ]]
tap_result $? 'one of a later protocol is refused, with what to do'

# --- what cannot be written where it should be ---
mkdir elsewhere swept
echo precious > elsewhere/x.json
TMPDIR=$PWD/elsewhere ab workload=sweeps base=self pairs=4 out=swept/x.json
[ "$status" -eq 4 ] && [[ $err == *"swept/x.json was not written: No such file or directory; the comparison is in $PWD/elsewhere/x-2.json instead"* ]]
tap_result $? 'a comparison whose folder is gone lies elsewhere'
[[ ${out##*$'\n'} == *" · $PWD/elsewhere/x-2.json" ]] && has elsewhere/x-2.json '"verdict"' && [ "$(cat elsewhere/x.json)" = precious ]
tap_result $? 'the last line says where, and what lay there still does'
full_disk() { (trap '' XFSZ; ulimit -f 2; "$TBENCH" ab suite=./tiny.lua seconds=1 threads=1 workload=small base=self pairs=4 out=lost.json); }
run full_disk
[ "$status" -eq 4 ] && [[ $err == *'lost.json was not written: File too large; the comparison is only shown here'* && ${out##*$'\n'} == *' · '* && ${out##*$'\n'} != *lost.json* ]] && [ ! -e lost.json ]
tap_result $? 'one that lies nowhere is told, and no file'
run "$TBENCH" report fuse.json
[ "$status" -eq 0 ] && [[ $out == *SLOWER* && $out == *'head/base [95%]'* ]]
tap_result $? 'report shows a stored comparison'
run "$TBENCH" report fuse.json format=json
[ "$status" -eq 0 ] && [[ $out == *'"kind"'* ]]
tap_result $? 'and as JSON'
fails 2 'is a comparison; its formats: console, json' "$TBENCH" report fuse.json format=csv
fails 2 'is a comparison of results' "$TBENCH" plot fuse.json
mkdir own-tmp
TMPDIR=$PWD/own-tmp ab workload=small base=self pairs=4 format=json
[ -z "$(ls -A own-tmp)" ] && ls results/*_ab_tiny.json > /dev/null && [[ $out == '{'* ]]
tap_result $? 'nothing is left but the result, results/<time>_ab_<suite>.json'

begin "$TBENCH" ab suite=./tiny.lua workload=small,chain base=self seconds=3600 pairs=4096 out=interrupted.json
await "$pid" grep -q 'pairs' err.text
kill -INT "$pid"
end
[ "$status" -eq 130 ] && has interrupted.json '"interrupted":	true'
tap_result $? 'Ctrl-C keeps what is known and exits with 130'
tap_end
