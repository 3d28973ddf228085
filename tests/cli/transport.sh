#!/bin/bash
# transport=command:…: workers behind a command, in another folder, with another home and another environment. What they compute and how
# they end is what it is here; nothing of them is left; and what can go wrong on the way is told with what to do.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

plugins=${builddir:?}/examples/backend_plugin
mkdir -p other/bin
ln -s "$TBENCH" other/bin/tbench
# Nothing of this side reaches the other one but through the stream.
cat > there <<EOL
#!/bin/bash
cd '$PWD/other' && exec env -i HOME='$PWD/other' PATH='$PWD/other/bin:/usr/bin:/bin' "\$@"
EOL
chmod +x there
there=transport=command:$PWD/there

cat > own.lua <<'EOL'
local tb = require "tbench"
return tb.suite { name = "own", axes = { how = { "right", "breaks" } }, workloads = { w = function(case)
  local w = tb.randn({ 4, 8 }, case)
  local fns = {
    right = function(x) return (x * w + x):relu() end,
    breaks = function(x) local y = x * w print("printed there") return y + x end,
  }
  return { fn = fns[case.how], args = { tb.randn({ 4, 8 }, case) } }
end } }
EOL
quick=(quick=yes counters=none threads=1)
# facts FILE: what does not vary of its cases.
facts() { grep -E '"(id|outcome|artifact|reason|file|line|against|compared|max_error|misses|disk_hits|memory_hits|bound)":' "$1"; }
# processes: those that were started in the folders of this test.
processes() {
  local process
  for process in /proc/[0-9]*; do
    [[ $(readlink "$process/cwd" 2> /dev/null) == "$PWD"/other* ]] && tr '\0' ' ' < "$process/cmdline" 2> /dev/null && echo
  done
}
no_process() { [ -z "$(processes)" ]; }
no_folder() { [ -z "$(ls -A other/.cache/tbench/runs 2> /dev/null)" ]; }

# --- the same ---
run "$TBENCH" run suite=./own.lua backend=inductor,loops plugin="loops:$plugins/plugin.so" "${quick[@]}" out=here.json
[ "$status" -eq 0 ]
tap_result $? 'a run here'
run "$TBENCH" run suite=./own.lua backend=inductor,loops plugin="loops:$plugins/plugin.so" "${quick[@]}" "$there" out=there.json
[ "$status" -eq 0 ] && diff <(facts here.json) <(facts there.json) >&2 && [ "$(facts there.json | wc -l)" -gt 20 ]
tap_result $? 'behind a command: the same outcomes, artifacts, breaks, errors and counts'
[[ $err == *'own: printed there'* ]]
tap_result $? 'and what the suite prints is shown'
no_process && no_folder
tap_result $? 'no process and no work folder is left'
[ "$(find other/.cache/tbench/blobs -type f | wc -l)" -eq 2 ] && [ -z "$(find . -maxdepth 2 -newer there.json -name '*.o')" ]
tap_result $? 'suite and plug-in lie in the cache of that side, once'
touch -d '2001-01-01' other/.cache/tbench/blobs/*
kept=$(ls -i other/.cache/tbench/blobs)
touch -d '10 days ago' other/.cache/tbench/blobs/*
run "$TBENCH" run suite=./own.lua how=right plugin="loops:$plugins/plugin.so" "${quick[@]}" "$there" out=again.json
[ "$status" -eq 0 ] && [ "$(ls -i other/.cache/tbench/blobs)" = "$kept" ]
tap_result $? 'what is there is not sent again'
touch -d '2001-01-01' other/.cache/tbench/blobs/*
run "$TBENCH" list
run "$TBENCH" explain suite=./own.lua how=right "$there"
[ "$status" -eq 0 ] && [[ $out == *relu* ]] && [ "$(find other/.cache/tbench/blobs -type f | wc -l)" -eq 1 ]
tap_result $? 'explain works as well; what nobody used for a month is gone'
fields() { grep -oE "\"$1\":[[:space:]]*(\"[^\"]*\"|[-0-9.e+]+|null|\\[[^]]*\\])" "$2" | head -n 1 | tr -d '\n\t '; }
same=yes
for field in host kernel model packages cores pus topology cpus; do [ "$(fields $field here.json)" = "$(fields $field there.json)" ] || same=$field; done
[ $same = yes ] && [[ $(fields steal_share there.json) == '"steal_share":null' ]] && grep -q '"cause":	"governor"' there.json
tap_result $? "environment, topology and noise are those of that side ($same)"
start=$(tr -d '\n\t ' < there.json | grep -oE '"start_ns":\{"median":[0-9.]+' | head -n 1)
[[ $start =~ :([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -gt 0 ] && [ "${BASH_REMATCH[1]}" -lt 300000000000 ]
tap_result $? "the start is timed over there: $start"

# --- programs ---
cp "$TBENCH" copy && echo 'another program with the same generators' >> copy
run "$TBENCH" ab suite=./own.lua how=right base=self head=./copy pairs=4 seconds=1 threads=1 attribute=no "$there" out=ab.json
{ [ "$status" -eq 0 ] || [ "$status" -eq 3 ]; } && grep -q '"verdict"' ab.json && [ "$(find other/.cache/tbench/blobs -perm -100 -type f | wc -l)" -eq 1 ]
tap_result $? 'the program of a side is brought there'
rm other/bin/tbench && cp copy other/bin/tbench
run "$TBENCH" run suite=./own.lua how=right "${quick[@]}" "$there" out=shipped.json
[ "$status" -eq 0 ] && [ "$(find other/.cache/tbench/blobs -perm -100 -type f | wc -l)" -eq 2 ]
tap_result $? 'so is this one where another one is installed'
rm other/bin/tbench && ln -s "$TBENCH" other/bin/tbench

# --- peers ---
if command -v python3 > /dev/null; then
  mkdir -p suites/peers
  cp own.lua suites/own.lua
  cp "$srcdir"/suites/peers/*.py suites/peers
  cat > suites/peers/plus.py <<'EOL'
def added(a, b): return a + b
EOL
  cat > suites/peers/fake_adapter.py <<'EOL'
import array, sys
import adapter, plus

class Fake(adapter.Peer):
    def open(self, settings):
        sys.stderr.write("a fake is there\n")
        return "fake 1.0"

    def make(self, case):
        values = [array.array("f", bytes(value.data)) for value in (case.arguments[0], case.held["w"])]
        self.shape = case.arguments[0].shape
        return lambda: [max(plus.added(x * w, x), 0.0) for x, w in zip(*values)]

    def outputs(self, result):
        return [adapter.Output("f32", self.shape, lambda: [array.array("d", array.array("f", result)).tobytes()])]

if __name__ == "__main__":
    adapter.serve(Fake())
EOL
  sed -i 's/local fns = {/local fns = case.how == "right" and { right = function(x) return (x * w + x):relu() end } or {/' suites/own.lua
  TBENCH_SUITES=$PWD/suites run "$TBENCH" run suite=own how=right backend=inductor,peer:fake "${quick[@]}" "$there" out=peer.json
  [ "$status" -eq 0 ] && [ "$(grep -c '"outcome":	*"ok"' peer.json)" -eq 2 ] && [[ $err == *'a fake is there'* ]] && grep -q 'fake 1.0, Python' peer.json
  tap_result $? 'a peer comes with its modules, and computes from the same inputs'
else
  tap_skip 'a peer' 'no python3'
fi

# --- how workers end ---
cat > ends.lua <<'EOL'
local tb = require "tbench"
os.execute("sleep 61728 &")
local fns = {
  stays = function(x) return x + 1 end,
  leaves = function() os.execute("sleep 61728 &") print("on the way out") os.exit(3) end,
  dies = function() os.execute("kill -SEGV $PPID") while true do end end,
  hangs = function() io.popen("sleep 61728") while true do end end,
  raises = function() error("a line of the suite") end,
}
return tb.suite { name = "ends", axes = { how = { "stays", "leaves", "dies", "hangs", "raises" } },
  workloads = { w = function(case) return { fn = fns[case.how], args = { tb.randn({ 4 }, case) } } end } }
EOL
run "$TBENCH" run suite=./ends.lua "${quick[@]}" timeout=15 "$there" out=ends.json
[ "$status" -eq 4 ] && [[ $err == *'how=leaves: crashed: '*'exited early with status 3'*'on the way out'* && $err == *'how=dies: crashed: '*'died of signal 11'* ]]
tap_result $? 'a worker that leaves or dies is told as it would be here'
[[ $err == *'how=hangs: timeout: '*'no answer within 15 s'* && $err == *'how=raises: error: '*'./ends.lua:'*'a line of the suite'* ]]
tap_result $? 'so is one that hangs, and one that raises, by the name of the file here'
grep -q '"id":.*how=stays' ends.json && no_process && no_folder
tap_result $? 'and all that they started is gone'
echo 'local' > broken.lua
fails 2 './broken.lua:2:' "$TBENCH" run suite=./broken.lua "$there"

# --- an end from here ---
hangs_there() { processes | grep -q '^sleep 61728'; }
begin "$TBENCH" run suite=./ends.lua how=hangs "${quick[@]}" timeout=3600 "$there" out=interrupted.json
await "$pid" hangs_there
end_hurried
[ "$status" -eq 130 ] && no_process && no_folder
tap_result $? 'Ctrl-C ends it, and all over there'
begin "$TBENCH" run suite=./ends.lua how=hangs "${quick[@]}" timeout=3600 "$there" out=killed.json
await "$pid" hangs_there
kill -KILL "$pid"
end
await '' no_process && await '' no_folder
tap_result $? 'so does the end of the harness, however it comes'

# --- what goes wrong on the way ---
fails 2 'transport=elsewhere: use local, or command:COMMAND' "$TBENCH" run suite=./own.lua transport=elsewhere
fails 2 'transport=command:: use local, or command:COMMAND' "$TBENCH" run suite=./own.lua transport=command:
fails 2 'ended with status 127 before tbench launch answered: ' "$TBENCH" run suite=./own.lua transport='command:./no-such-command'
[[ $err == *'no-such-command'*'with a tbench of this version on PATH'* ]]
tap_result $? 'what the shell said is told, and what is needed'
fails 2 'ended with status 7 before tbench launch answered: no way there' "$TBENCH" run suite=./own.lua transport='command:echo no way there >&2; exit 7;'
fails 2 "printed 'Welcome to bench1' where tbench launch says hello" "$TBENCH" run suite=./own.lua transport="command:echo Welcome to bench1; ./there"
# says LINE: a command that answers this, whatever it is asked
says() { printf '#!/bin/bash\necho '\''%s'\''\nread -r _\n' "$1" > says && chmod +x says; }
says '{"ok": true, "hello": {"protocol": 99, "launcher": true, "version": "9.9"}}'
fails 2 'tbench launch there is of version 9.9 and speaks protocol 99, this program' "$TBENCH" run suite=./own.lua transport=command:./says
mkdir older && printf '#!/bin/bash\necho "tbench: there is no verb '\''$1'\''" >&2\nexit 2\n' > older/tbench && chmod +x older/tbench
fails 2 "ended with status 2 before tbench launch answered: tbench: there is no verb 'launch'" "$TBENCH" run suite=./own.lua transport="command:env PATH=$PWD/older:$PATH"
fails 2 'neither HOME nor XDG_CACHE_HOME names a folder' "$TBENCH" run suite=./own.lua transport="command:env -i PATH=$PWD/other/bin"
fails 2 'started by tbench itself' "$TBENCH" launch now
# the way breaks once a worker runs: the command ends, and what it led to stays
cat > cut.lua <<'EOL'
local tb = require "tbench"
return tb.suite { name = "cut", workloads = { w = function(case)
  return { fn = function(x) io.open("cut", "w"):close() while true do end end, args = { tb.randn({ 4 }, case) } }
end } }
EOL
cat > breaks <<EOL
#!/bin/bash
trap 'kill \$(jobs -p)' EXIT
'$PWD/there' "\$@" <&0 &
while kill -0 \$! 2> /dev/null; do
  sleep 0.05
  ! compgen -G '$PWD/other/.cache/tbench/runs/*/cut' > /dev/null || { echo 'the way has gone' >&2; exit 9; }
done
EOL
chmod +x breaks
run "$TBENCH" run suite=./cut.lua "${quick[@]}" timeout=60 transport="command:$PWD/breaks" out=cut.json
[ "$status" -eq 4 ] && [[ $err == *'the connection to the worker'\''s host was lost (the command of transport= ended with status 9): the way has gone'* ]]
tap_result $? 'a way that breaks is told, and is the outcome of the case'
await '' no_process
tap_result $? 'and no worker stays behind it'
tap_end
