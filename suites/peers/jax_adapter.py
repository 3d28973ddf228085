"""backend=peer:jax: JAX with jax.jit, on the CPU."""
import os

import adapter
import formulas


# Functions take what they hold as their first argument: values that jit finds in a closure would be built into the program.


def mlp(case, jax, last):
    def function(layers, x):
        for i, (weight, bias) in enumerate(layers):
            x = x @ weight.T + bias
            if last or i + 1 < len(layers):
                x = jax.nn.relu(x)
        return x

    return function, case.layers("model")


def gelu(case, jax):
    def function(held, x, r):
        scale, shift = held
        return jax.nn.gelu(x * scale + shift, approximate=False) + r

    return function, (case.held["scale"], case.held["shift"])


def layernorm_gelu(case, jax):
    def function(held, x, r):
        weight, bias = held
        centred = x - x.mean(-1, keepdims=True)
        normal = centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
        return jax.nn.gelu(normal * weight + bias, approximate=False) + r

    return function, (case.held["norm.weight"], case.held["norm.bias"])


def attention(causal, jax):
    def function(_, q, k, v):
        scores = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
        if causal:
            keep = jax.numpy.tril(jax.numpy.ones(scores.shape[-2:], bool))
            scores = jax.numpy.where(keep, scores, -jax.numpy.inf)
        return jax.nn.softmax(scores, axis=-1) @ v

    return function, ()


def trig(case, jax):
    n = jax.numpy
    return lambda _, x: n.log(n.exp(n.tan(n.cos(n.sin(x))))), ()


# What the suites of these names compute: a function, and what it holds.
WORKLOADS = {
    ("mlp", "mlp"): lambda case, jax: mlp(case, jax, False),
    ("mlp_small", "mlp_small"): lambda case, jax: mlp(case, jax, True),
    ("pointwise", "trig"): trig,
    ("pointwise", "gelu"): gelu,
    ("pointwise", "broadcast"): lambda case, jax: (lambda _, x, column, row: jax.nn.relu(x * column + row) * 0.5 - x, ()),
    ("softmax_matmul", "softmax_matmul"): lambda case, jax: (lambda _, x, w: jax.nn.softmax(x, axis=-1) @ w, ()),
    ("layernorm_gelu", "layernorm_gelu"): layernorm_gelu,
    ("attention", "full"): lambda case, jax: attention(False, jax),
    ("attention", "causal"): lambda case, jax: attention(True, jax),
    ("scorers", "entropy"): lambda case, jax: (lambda _, x: formulas.entropy(x, jax.nn.softmax, jax.numpy.log), ()),
    ("scorers", "sobel"): lambda case, jax: (lambda _, x: formulas.sobel(x, jax.numpy.sqrt), ()),
    ("scorers", "query_content"): lambda case, jax: (lambda _, q, content: formulas.query_content(q, content, jax.nn.softmax), ()),
}

EVENTS = {"/jax/compilation_cache/cache_misses": "misses", "/jax/compilation_cache/cache_hits": "disk_hits"}


class Jax(adapter.Peer):
    def open(self, settings):
        os.environ["JAX_PLATFORMS"] = "cpu"
        if "threads" in settings:
            os.environ["NPROC"] = os.environ["PJRT_NPROC"] = settings["threads"]  # XLA's pools; their CPUs are the process'
        import jax

        self.jax = jax
        self.counts = {"misses": 0, "disk_hits": 0, "memory_hits": 0}
        jax.config.update("jax_compilation_cache_dir", os.path.join(settings["cache_dir"], "jax"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
        jax.monitoring.register_event_listener(self.count)
        return f"jax {jax.__version__}"

    def count(self, event, **_):
        if event in EVENTS:
            self.counts[EVENTS[event]] += 1

    def array(self, value):
        import numpy

        if not isinstance(value, adapter.Tensor):
            return value
        dtypes = {"bool": bool, "i64": numpy.int64, "bf16": self.jax.numpy.bfloat16, "f32": numpy.float32, "f64": numpy.float64}
        return self.jax.device_put(numpy.frombuffer(value.data, dtype=dtypes[value.dtype]).reshape(value.shape))

    def make(self, case):
        if case.table["device"] != "cpu":
            raise adapter.Unsupported(f"the adapter of jax runs on the cpu, not on {case.table['device']}")
        if case.mode != "default":
            raise adapter.Unsupported(f"jax has no mode {case.mode}")
        maker = WORKLOADS.get((case.suite, case.workload))
        if not maker:
            raise adapter.Unsupported(f"the adapter of jax has no workload {case.workload} of suite {case.suite}")
        self.jax.config.update("jax_enable_x64", case.table["dtype"] == "f64")
        case.held = {path: self.array(value) for path, value in case.held.items()}
        arguments = [self.array(value) for value in case.arguments]
        function, held = maker(case, self.jax)
        self.function = function = self.jax.jit(function)
        wait = self.jax.block_until_ready
        return lambda: wait(function(held, *arguments))

    def outputs(self, result):
        return [self.output(one) for one in (result if isinstance(result, tuple) else (result,))]

    def output(self, array):
        import numpy

        names = {"bool": "bool", "int64": "i64", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}
        name = names[str(array.dtype)]
        flat = numpy.asarray(array).reshape(-1)
        wide = numpy.float64 if name in adapter.FLOATS else numpy.int64

        def pieces():
            for first in range(0, flat.size, adapter.CHUNK):
                yield flat[first : first + adapter.CHUNK].astype(wide).tobytes()

        return adapter.Output(name, tuple(array.shape), pieces)

    def forget(self):
        self.jax.clear_caches()

    def evidence(self):
        return dict(self.counts)


if __name__ == "__main__":
    adapter.serve(Jax())
