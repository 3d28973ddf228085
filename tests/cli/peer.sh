#!/bin/bash
# backend=peer:NAME: an adapter in Python, without any framework, beside our own backends: what it computes is held against the f64
# reference of the same inputs, and whatever it does wrong is the outcome of its case alone.
# shellcheck source=tests/cli/tap.sh
. "${srcdir:?}/tests/cli/tap.sh"

command -v python3 > /dev/null || { echo '1..0 # SKIP no python3'; exit 0; }
unset TBENCH_PYTHON
export TBENCH_SUITES=$PWD/own

mkdir -p own/peers
cat > own/peers/fake_adapter.py <<'PYTHON'
import array, os, signal, struct, sys, time
import adapter

FORMATS = {"f32": "f", "f64": "d"}

def elements(tensor):
    if tensor.dtype != "bf16":
        return list(memoryview(bytes(tensor.data)).cast(FORMATS[tensor.dtype]))
    halves = memoryview(bytes(tensor.data)).cast("H")
    return [struct.unpack("=f", struct.pack("=I", half << 16))[0] for half in halves]

class Fake(adapter.Peer):
    def open(self, settings):
        self.folder, self.compiled, self.counts = settings["cache_dir"], False, {"misses": 0, "disk_hits": 0, "memory_hits": 0}
        os.makedirs(self.folder, exist_ok=True)
        sys.stderr.write("threads of the fake: %s\n" % settings["threads"])
        if os.path.basename(sys.argv[0]) == "needs_adapter.py":
            import a_package_that_is_not_there
        return "fake 1.0"

    def make(self, case):
        self.how, (x, factor) = case.table.get("how", "right"), case.arguments
        self.dtype, self.shape = x.dtype, x.shape
        shift, scale = elements(case.held["model.shift"]), elements(case.held["columns"])
        x = elements(x)
        if self.how == "unsupported":
            raise adapter.Unsupported("the fake has no such workload")
        if self.how == "raises":
            raise ValueError("no value\nof two lines")
        def call():
            if not self.compiled:
                self.compile()
            if self.how == "crashes":
                os.kill(os.getpid(), signal.SIGSEGV)
            if self.how == "hangs":
                time.sleep(61728)
            if self.how == "babbles":
                os.write(adapter.CONTROL, b"this is no JSON\n")
            result = [a * scale[i % len(scale)] * factor + shift[i % len(shift)] for i, a in enumerate(x)]
            return [value + 1 for value in result] if self.how == "wrong" else result
        return call

    def compile(self):
        entry = os.path.join(self.folder, "entry")
        self.counts["disk_hits" if os.path.exists(entry) else "misses"] += 1
        open(entry, "w").close()
        self.compiled = True

    def outputs(self, result):
        shape = self.shape[:1] if self.how == "shapes" else self.shape
        if self.dtype == "f32":
            result = array.array("f", result)
        wide = array.array("d", list(result)[: shape[0]] if self.how == "shapes" else result)
        return [adapter.Output(self.dtype, shape, lambda: [wide.tobytes()])]

    def forget(self):
        self.compiled = False

    def evidence(self):
        return None if self.how == "mute" else dict(self.counts)

    def stats(self):
        return None if self.how == "mute" else {"graphs": 1, "breaks": [], "fallbacks": []}

if __name__ == "__main__":
    adapter.serve(Fake())
PYTHON
cp own/peers/fake_adapter.py own/peers/needs_adapter.py
cp own/peers/fake_adapter.py mine.py
echo 'this is no Python' > broken.py
cat > own/shared.lua <<'SUITE'
local tb = require "tbench"
return tb.suite { name = "shared", axes = { batch = { 3 }, how = { "right" } }, workloads = {
  w = function(case)
    local model = { shift = tb.randn({ 5 }, case) }
    local columns = tb.randn({ 5, 1 }, case):t()
    return { fn = function(x, factor) return x * columns * factor + model.shift end, args = { tb.randn({ 5, case.batch }, case):t(), 1.5 } }
  end,
  generated = function(case) return { fn = function(x) return x + 1 end, args = function(i) return { tb.randn({ i }, case) } end } end,
} }
SUITE
quick=(suite=shared quick=yes counters=none)
# fields FILE NAME…: the values of these fields, in the order of the file, on one line.
fields() {
  python3 - "$@" <<'PYTHON'
import json, sys
def at(value, path):
    for name in path.split("."):
        value = value[name] if value is not None else None
    return value
for case in json.load(open(sys.argv[1]))["cases"]:
    print(*(json.dumps(at(case, path)) for path in sys.argv[2:]), sep=" ", end=" ")
PYTHON
}

# --- beside our own ---
run "$TBENCH" run "${quick[@]}" workload=w backend=inductor,peer:fake threads=1 out=right.json
[ "$status" -eq 0 ] && [ "$(fields right.json case.backend outcome correctness.against correctness.ok)" = '"inductor" "ok" "f64" true "peer:fake" "ok" "f64" true ' ]
tap_result $? "a peer computes from the same inputs, is held against the same f64 reference, and stands in the same table"
[[ $out == *'peer:fake'*'2 of 2 right (against f64)'* && $err == *'threads of the fake: 1'* ]]
tap_result $? 'the table has its row; it is told its threads'
[[ $(fields right.json peer.framework) == 'null "fake 1.0, Python '* ]]
tap_result $? "the result says what was measured: $(fields right.json peer.framework)"
[[ $(fields right.json compile.evidence.cold.misses compile.evidence.disk.disk_hits graph.graphs graph.guards speedup.replicates) == *'1 1 1 null 1 ' ]]
tap_result $? 'cold is an empty cache, disk a filled one, as its own counts say; what it does not count is null'
[[ $(fields right.json compile.cold_ns.median compile.first_call_ns.median) =~ \ ([0-9.]+)\ ([0-9.]+)\ $ ]] && [ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
tap_result $? 'its cold time is its whole first call'
[ ! -e own/peers/__pycache__ ] && [ ! -e "$srcdir/suites/peers/__pycache__" ]
tap_result $? 'nothing is written beside adapters'
run "$TBENCH" run "${quick[@]}" workload=w backend=peer:fake dtype=f64,bf16 out=dtypes.json
[ "$(fields dtypes.json case.dtype outcome)" = '"f64" "ok" "bf16" "ok" ' ] || [ "$(fields dtypes.json case.dtype outcome)" = '"bf16" "ok" "f64" "ok" ' ]
tap_result $? "inputs arrive in each dtype: $(fields dtypes.json case.dtype outcome)"
run "$TBENCH" run "${quick[@]}" workload=w backend=peer:./mine.py out=mine.json
[ "$status" -eq 0 ] && [ "$(fields mine.json case.backend outcome peer.adapter)" = '"peer:mine" "ok" "./mine.py" ' ]
tap_result $? 'a file is taken as it is; the case carries its name, not its folder'
run "$TBENCH" run "${quick[@]}" workload=w backend=inductor,peer:fake threads=1 out=again.json
started=$(grep -c 'threads of the fake' <<< "$err")
run "$TBENCH" run "${quick[@]}" workload=w backend=inductor,peer:fake threads=1 changed-since=right.json out=selected.json
[ "$status" -eq 0 ] && [[ $err == *'changed since right.json: 1 case; new: 0; a sample of the 1 unchanged: 1; left out: 0'* ]] && [ "$(grep -c 'threads of the fake' <<< "$err")" -eq "$started" ]
tap_result $? "a peer's case has no artifact: it is timed, and not compiled for one"
run "$TBENCH" ab suite=shared workload=w base.backend=peer:fake head.backend=eager dry-run=yes
[ "$status" -eq 0 ] && [[ $out == *'shared/w/peer:fake/'*'shared/w/eager/'* ]]
tap_result $? 'ab takes one as a side'

# --- what it lacks ---
run "$TBENCH" run suite=shared quick=yes workload=w how=mute backend=peer:fake counters=papi,callgrind out=mute.json
[ "$status" -eq 0 ] && [ "$(fields mute.json outcome graph compile.evidence.cold compile.cold_ns peer.no_graph compile.invalid.cold)" = \
  '"ok" null null null "the adapter reports no graphs" "the worker sent no counters" ' ]
tap_result $? 'evidence and graphs that it does not tell are null, with the reason'
[[ $(fields mute.json counters instructions.steady instructions) == *'"why": "the adapter of a peer does not count"'*'null'*'instructions of a peer are not counted'* ]]
tap_result $? 'so are counters and instructions'
run "$TBENCH" run "${quick[@]}" workload=generated backend=inductor,peer:fake out=generated.json
[ "$status" -eq 0 ] && [ "$(fields generated.json outcome)" = '"ok" "unsupported" ' ] && grep -q 'its arguments differ from call to call' generated.json
tap_result $? 'arguments that differ from call to call are not for peers'
run "$TBENCH" run "${quick[@]}" workload=w backend=peer:needs,inductor out=needs.json
[ "$status" -eq 0 ] && [ "$(fields needs.json outcome)" = '"unsupported" "ok" ' ] && grep -q "the package 'a_package_that_is_not_there' cannot be imported by" needs.json
tap_result $? 'an absent package is unsupported, by its name, and our own case is measured'
TBENCH_PYTHON=./no-such-python run "$TBENCH" run "${quick[@]}" workload=w backend=peer:fake out=python.json
[ "$status" -eq 0 ] && [ "$(fields python.json outcome error)" = '"unsupported" "a peer needs ./no-such-python: No such file or directory (TBENCH_PYTHON names another Python)" ' ]
tap_result $? 'so is an absent Python'

# --- what it does wrong ---
run "$TBENCH" run "${quick[@]}" workload=w backend=inductor,peer:fake how=right,wrong,crashes,hangs,babbles,raises,unsupported,shapes timeout=20 out=bad.json
[ "$status" -eq 5 ] && [ "$(fields bad.json case.backend | tr ' ' '\n' | grep -c inductor)" -eq 8 ]
tap_result $? 'a run with peers that fail ends'
# became HOW OUTCOME TEXT: the outcome of the peer's case and a part of its error; ours is ok.
became() {
  local found
  found=$(fields bad.json case.params.how case.backend outcome error | grep -oE "\"$1\" \"[a-z:]*\" \"[a-z]*\" (null|\"([^\"\\\\]|\\\\.)*\")" | tr '\n' ' ')
  [[ $found == *'"inductor" "ok"'* && $found == *"\"peer:fake\" \"$2\""*"$3"* ]]
  tap_result $? "$1: $found"
}
became right ok null
became wrong wrong 'result[1]: max|compiled - f64|'
became crashes crashed 'died of signal 11'
became hangs timeout 'no answer within 20 s'
became babbles crashed 'a line that is not JSON'
became raises error 'ValueError: no value'
became unsupported unsupported 'the fake has no such workload'
became shapes wrong 'gave a tensor f32 [3] where'
run "$TBENCH" run "${quick[@]}" workload=w backend=peer:./broken.py out=broken.json
[ "$status" -eq 4 ] && [ "$(fields broken.json outcome)" = '"crashed" ' ] && grep -q 'SyntaxError' broken.json
tap_result $? 'an adapter that is no Python is told with its last words'

# --- names ---
fails 2 'backend=peer:none: there is no adapter peers/none_adapter.py on the suite path' "$TBENCH" run suite=shared backend=peer:none
fails 2 'backend=peer:./none.py: the file cannot be read' "$TBENCH" run suite=shared backend=peer:./none.py
fails 2 'backend=peer:: use peer:NAME or peer:./FILE.py' "$TBENCH" run suite=shared backend=peer:
fails 2 'backend=peer:none: there is no adapter' "$TBENCH" ab suite=shared base.backend=peer:none dry-run=yes
fails 2 'backend=peer:fake is a peer' "$TBENCH" explain suite=shared workload=w backend=peer:fake
run python3 -B "$srcdir/suites/peers/torch_adapter.py"
[ "$status" -ne 0 ] && [[ $err == *'started by tbench itself (backend=peer:NAME), never by hand'* ]]
tap_result $? 'an adapter that is started by hand says so'

# --- the adapters that come with tbench ---
cat > sobel.py <<'PYTHON'
import math, random
import formulas

class Image:
    """A batch of one image, as far as the formula needs it."""
    def __init__(self, rows): self.rows = rows
    def __getitem__(self, key): return Image([row[key[2]] if len(key) > 2 else row for row in self.rows[key[1]]])
    def with_(self, other, f): return Image([[f(a, other.rows[y][x] if isinstance(other, Image) else other) for x, a in enumerate(row)] for y, row in enumerate(self.rows)])
    def __add__(self, other): return self.with_(other, lambda a, b: a + b)
    def __sub__(self, other): return self.with_(other, lambda a, b: a - b)
    def __mul__(self, other): return self.with_(other, lambda a, b: a * b)
    __rmul__ = __mul__

random.seed(1)
rows = [[random.random() for _ in range(7)] for _ in range(5)]
edges = formulas.sobel(Image(rows), lambda image: Image([[math.sqrt(a) for a in row] for row in image.rows])).rows
assert (len(edges), len(edges[0])) == (3, 5)
across = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]
for y in range(3):
    for x in range(5):
        gx, gy = (sum(k[j][i] * rows[y + j][x + i] for j in range(3) for i in range(3)) for k in (across, list(zip(*across))))
        assert math.isclose(edges[y][x], math.hypot(gx, gy), rel_tol=1e-6)
PYTHON
PYTHONPATH=$srcdir/suites/peers run python3 -B sobel.py
[ "$status" -eq 0 ] && [ "$(grep -l '^import formulas' "$srcdir"/suites/peers/*_adapter.py | wc -l)" -eq 2 ]
tap_result $? 'what adapters share computes what it is named for'
PYTHONPATH=$srcdir/suites/peers run python3 -Bc "import torch_adapter, torch_eager_adapter, jax_adapter; print(sorted(torch_adapter.WORKLOADS) == sorted(jax_adapter.WORKLOADS), *('/'.join(key) for key in sorted(jax_adapter.WORKLOADS)))"
[ "$status" -eq 0 ] && [[ $out == 'True '* ]]
tap_result $? "they share their workloads, and load without their packages: $out"
TBENCH_SUITES='' run "$TBENCH" list
listed=$out
for key in $(PYTHONPATH=$srcdir/suites/peers python3 -Bc "import jax_adapter; print(*('/'.join(key) for key in sorted(jax_adapter.WORKLOADS)))"); do
  sed -n "/^${key%/*}:/,/^[^ ]/p" <<< "$listed" | grep -qx "    workload ${key#*/}"
  tap_result $? "$key is a workload of ours"
done

tap_end
