"""What the adapters of peers share: the protocol of a worker of tbench, and its timing. The standard library only.

An adapter is a subclass of Peer and the line `serve(NAME())`. tbench starts it as `python3 NAME_adapter.py threads=… cache_dir=…` with a
socket for requests at descriptor 3 and a pipe for values at descriptor 4 (harness/wire/protocol.h, harness/wire/exchange.h, harness/plan/peer.h
describe both). Invariants:
1. Each request gets exactly one reply.
2. A timed loop holds the calls and nothing else; a call has ended when its result can be read.
3. What is not known is left out of a reply, never made up.
"""
import ctypes
import hashlib
import itertools
import json
import mmap
import os
import re
import resource
import signal
import socket
import struct
import sys
import time
import traceback

PROTOCOL, CONTROL, EXCHANGE = 1, 3, 4
HEAD, MAGIC, PATH_BYTES = struct.Struct("=4I8qq120s"), 0x7462, 120
MAX_DIMS = 8
END, TENSOR, NUMBER, INTEGER, BOOLEAN, STRING, NIL, TABLE, SAME, OTHER = range(10)
DTYPES = ("bool", "i64", "bf16", "f32", "f64")
DTYPE_BYTES = {"bool": 1, "i64": 8, "bf16": 2, "f32": 4, "f64": 8}
FLOATS = ("bf16", "f32", "f64")
CHUNK = 1 << 20  # elements that are widened at a time
MIB = 1 << 20
PR_SET_PDEATHSIG = 1


class Unsupported(Exception):
    """What this peer does not have; its text says what."""


class Tensor:
    """A tensor of the inputs: dtype ("f32"), shape, and its elements as bytes, row-major."""

    def __init__(self, dtype, shape, data):
        self.dtype, self.shape, self.data = dtype, shape, data


class Output:
    """A result: dtype, shape, and pieces(), which gives its elements in turn as bytes of 8 an element (doubles or int64)."""

    def __init__(self, dtype, shape, pieces):
        self.dtype, self.shape, self.pieces = dtype, shape, pieces


class Case:
    """What is to be made: suite, workload, mode, the table of the case, its arguments, and what the function holds beside them."""

    def __init__(self, request, items):
        self.suite, self.workload = request["suite_name"], request["workload"]
        self.mode, self.table = request["mode"], request["case"]
        self.arguments = [items[path] for path in sorted((p for p in items if p.startswith("argument ")), key=lambda p: int(p.split()[1]))]
        self.held = {path.split(" ", 1)[1]: value for path, value in items.items() if path.startswith("upvalue ")}

    def layers(self, model):
        """(weight, bias) of the linear layers of a Sequential in their order."""
        found = (re.fullmatch(re.escape(model) + r"\[(\d+)\]\.weight", path) for path in self.held)
        numbers = sorted(int(match.group(1)) for match in found if match)
        return [(self.held[f"{model}[{i}].weight"], self.held[f"{model}[{i}].bias"]) for i in numbers]


class Peer:
    """What an adapter has to say. `call` of what make() returns takes no argument and returns once its result is there."""

    def open(self, settings):
        """Loads the framework, before the hello; returns its name and version. An ImportError makes the peer unsupported."""
        raise NotImplementedError

    def make(self, case):
        """Makes the workload; returns the function of a call. Raises Unsupported for what it does not have."""
        raise NotImplementedError

    def outputs(self, result):
        """The results of a call as a list of Output."""
        raise NotImplementedError

    def forget(self):
        """Forgets what was compiled in this process; caches on disk stay."""

    def evidence(self):
        """How often something was compiled and cached since the start: {"misses", "disk_hits", "memory_hits"}; None: not known."""
        return None

    def stats(self):
        """Facts of the graphs, named as in the result's `graph`; None: not known."""
        return None


# --- values ---


def read_items(path):
    """The items of a file of inputs: path to Tensor, number or boolean."""
    items = {}
    with open(path, "rb") as file:
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    at = 0
    while True:
        magic, kind, dtype, ndim, *rest = HEAD.unpack_from(data, at)
        sizes, count, name = rest[:MAX_DIMS], rest[MAX_DIMS], rest[MAX_DIMS + 1].split(b"\0")[0].decode()
        at += HEAD.size
        if magic != MAGIC:
            raise ValueError(f"{path}: byte {at}: no item")
        if kind == END:
            return items
        if kind == TENSOR:
            size = count * DTYPE_BYTES[DTYPES[dtype]]
            items[name] = Tensor(DTYPES[dtype], tuple(sizes[:ndim]), data[at : at + size])
        elif kind in (NUMBER, INTEGER, BOOLEAN):
            size = 8
            items[name] = struct.unpack_from("=d" if kind == NUMBER else "=q", data, at)[0]
        else:
            size = count if kind == STRING else 0
        at += size


class Sender:
    """A stream of values to the harness, or its digest alone."""

    def __init__(self, send):
        self.send, self.hash = send, hashlib.blake2b(digest_size=8)

    def put(self, data):
        self.hash.update(data)
        left = memoryview(data).cast("B") if self.send else ()
        while len(left):
            left = left[os.write(EXCHANGE, left) :]

    def item(self, kind, path, count=0, dtype="bool", shape=()):
        sizes = list(shape) + [0] * (MAX_DIMS - len(shape))
        self.put(HEAD.pack(MAGIC, kind, DTYPES.index(dtype), len(shape), *sizes, count, path.encode()[: PATH_BYTES - 1]))

    def output(self, path, output):
        count = 1
        for size in output.shape:
            count *= size
        self.item(TENSOR, path, count, output.dtype, output.shape)
        for piece in output.pieces():
            self.put(piece)

    def results(self, outputs, arguments):
        self.item(TABLE, "result", len(outputs) + 1)
        for i, output in enumerate(outputs, 1):
            self.output(f"result[{i}]", output)
        self.item(INTEGER, "result.n", 1)
        self.put(struct.pack("=q", len(outputs)))
        for i in range(1, arguments + 1):
            self.item(SAME, f"argument {i}")
        self.item(END, "")


# --- requests ---


def preempted():
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


class Server:
    def __init__(self, peer):
        self.peer, self.call, self.case, self.result = peer, None, None, None

    def prepare(self, request):
        if request["role"] != "compiled":
            raise Unsupported(f"a peer has no role {request['role']}")
        self.case = Case(request, read_items(request["inputs"]))
        self.call = self.peer.make(self.case)
        return {}

    def timed(self, calls):
        call, result = self.call, None
        start = time.perf_counter_ns()
        for _ in itertools.repeat(None, calls):
            result = call()
        ns = time.perf_counter_ns() - start
        self.result = result
        return ns

    def first(self, request):
        if request.get("count"):
            raise Unsupported("instructions of a peer are not counted")
        if request.get("reset"):
            self.peer.forget()
        before = self.peer.evidence()
        reply = {"ns": self.timed(1)}
        after = self.peer.evidence()
        if before is not None and after is not None:
            reply["evidence"] = {name: after[name] - before[name] for name in after}
        return reply | self.stats(request)

    def do_call(self, request):
        return {"ns": self.timed(1)}

    def block(self, request):
        if request.get("warm"):
            self.timed(int(request["warm"]))
        before = preempted()
        ns = self.timed(int(request["calls"]))
        return {"ns": ns, "preempted": preempted() - before}

    def check(self, request):
        sender = Sender(bool(request.get("send")))
        sender.results(self.peer.outputs(self.result), len(self.case.arguments))
        return {"digest": sender.hash.hexdigest(), "good": True}

    def stats(self, request):
        stats = self.peer.stats()
        return {} if stats is None else {"stats": stats}

    def counters(self, request):
        names = [name for name in request.get("names", "").split(",") if name]
        return {"counters": {name: {"value": None, "why": "the adapter of a peer does not count"} for name in names}}

    def answer(self, request):
        handlers = {"prepare": self.prepare, "first": self.first, "call": self.do_call, "block": self.block, "check": self.check,
                    "stats": self.stats, "counters": self.counters, "quit": lambda request: {}}
        if request["op"] not in handlers:
            raise Unsupported(f"a peer has no request {request['op']}")
        return {"ok": True, **handlers[request["op"]](request)}


def failure(error):
    kind = "unsupported" if isinstance(error, Unsupported) else "oom" if isinstance(error, MemoryError) else "error"
    text = str(error).strip().splitlines()
    line = text[0] if text else type(error).__name__
    reply = {"kind": kind, "text": line if kind == "unsupported" else f"{type(error).__name__}: {line}"}
    if kind == "error":
        reply["trace"] = "".join(traceback.format_exception(error))
    return {"ok": False, "error": reply}


# --- the process ---


def limit(settings):
    """No core files, no more memory than it may take, and an end with the harness."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if "memory_mb" in settings:
        bytes_most = int(settings["memory_mb"]) * MIB
        resource.setrlimit(resource.RLIMIT_DATA, (bytes_most, bytes_most))
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def open_peer(peer, settings):
    try:
        return {"ok": True, "hello": {"protocol": PROTOCOL, "framework": f"{peer.open(settings)}, Python {sys.version.split()[0]}", "pid": os.getpid(), "ready_ns": time.monotonic_ns()}}
    except ImportError as error:
        return failure(Unsupported(f"the package '{error.name}' cannot be imported by {sys.executable}: {error} (TBENCH_PYTHON names another Python)"))
    except Exception as error:
        return failure(error)


def serve(peer):
    """Runs an adapter: never returns."""
    try:
        control = socket.socket(fileno=CONTROL)
        os.set_inheritable(CONTROL, False)
        os.set_inheritable(EXCHANGE, False)
    except OSError:
        sys.exit(f"{sys.argv[0]}: started by tbench itself (backend=peer:NAME), never by hand")
    sys.stdout.reconfigure(line_buffering=True)
    settings = dict(word.split("=", 1) for word in sys.argv[1:])
    limit(settings)
    server = Server(peer)
    lines = control.makefile("r", encoding="utf-8")
    reply = open_peer(peer, settings)
    control.sendall(json.dumps(reply).encode() + b"\n")
    for line in lines if reply["ok"] else ():
        request = json.loads(line)
        try:
            reply = server.answer(request)
        except Exception as error:
            reply = failure(error)
        control.sendall(json.dumps(reply).encode() + b"\n")
        if request["op"] == "quit":
            break
    sys.stdout.flush()
    os._exit(0)  # frameworks may take seconds to take themselves down
