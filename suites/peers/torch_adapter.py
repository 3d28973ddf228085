"""backend=peer:torch: PyTorch with torch.compile, on the CPU."""
import ctypes
import os

import adapter
import formulas


def mlp(case, torch, last):
    """Linear layers with a relu between them, and behind the last one too if `last`."""
    layers = []
    for weight, bias in case.layers("model"):
        linear = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=weight.dtype)
        linear.weight = torch.nn.Parameter(weight, requires_grad=False)
        linear.bias = torch.nn.Parameter(bias, requires_grad=False)
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*(layers if last else layers[:-1]))


def gelu(case, torch):
    scale, shift = case.held["scale"], case.held["shift"]
    return lambda x, r: torch.nn.functional.gelu(x * scale + shift) + r


def layernorm_gelu(case, torch):
    weight, bias = case.held["norm.weight"], case.held["norm.bias"]

    def function(x, r):
        return torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, weight.shape, weight, bias, 1e-5)) + r

    return function


def attention(causal, torch):
    return lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


def softmax(x):
    return x.softmax(-1)


# What the suites of these names compute; the functions are made with the values that they hold.
WORKLOADS = {
    ("mlp", "mlp"): lambda case, torch: mlp(case, torch, False),
    ("mlp_small", "mlp_small"): lambda case, torch: mlp(case, torch, True),
    ("pointwise", "trig"): lambda case, torch: lambda x: x.sin().cos().tan().exp().log(),
    ("pointwise", "gelu"): gelu,
    ("pointwise", "broadcast"): lambda case, torch: lambda x, column, row: (x * column + row).relu() * 0.5 - x,
    ("softmax_matmul", "softmax_matmul"): lambda case, torch: lambda x, w: x.softmax(-1) @ w,
    ("layernorm_gelu", "layernorm_gelu"): layernorm_gelu,
    ("attention", "full"): lambda case, torch: attention(False, torch),
    ("attention", "causal"): lambda case, torch: attention(True, torch),
    ("scorers", "entropy"): lambda case, torch: lambda x: formulas.entropy(x, softmax, torch.log),
    ("scorers", "sobel"): lambda case, torch: lambda x: formulas.sobel(x, torch.sqrt),
    ("scorers", "query_content"): lambda case, torch: lambda q, content: formulas.query_content(q, content, softmax),
}


class Torch(adapter.Peer):
    def open(self, settings):
        cache = settings["cache_dir"]
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(cache, "inductor")
        os.environ["TRITON_CACHE_DIR"] = os.path.join(cache, "triton")
        os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "1"
        threads = settings.get("threads")
        if threads:
            os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = threads
        import torch

        self.torch = torch
        self.dtypes = {"bool": torch.bool, "i64": torch.int64, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
        if threads:
            torch.set_num_threads(int(threads))
        torch.set_grad_enabled(False)
        return f"torch {torch.__version__}"

    def tensor(self, value):
        if not isinstance(value, adapter.Tensor):
            return value
        return self.torch.frombuffer(bytearray(value.data), dtype=self.dtypes[value.dtype]).reshape(value.shape)

    def make(self, case):
        if case.table["device"] != "cpu":
            raise adapter.Unsupported(f"the adapter of torch runs on the cpu, not on {case.table['device']}")
        maker = WORKLOADS.get((case.suite, case.workload))
        if not maker:
            raise adapter.Unsupported(f"the adapter of torch has no workload {case.workload} of suite {case.suite}")
        case.held = {path: self.tensor(value) for path, value in case.held.items()}
        arguments = [self.tensor(value) for value in case.arguments]
        function = self.compile(maker(case, self.torch), case.mode)
        return lambda: function(*arguments)

    def compile(self, function, mode):
        return self.torch.compile(function, mode=mode)

    def outputs(self, result):
        return [self.output(one) for one in (result if isinstance(result, tuple) else (result,))]

    def output(self, tensor):
        torch = self.torch
        names = {dtype: name for name, dtype in self.dtypes.items()}
        wide = torch.float64 if tensor.is_floating_point() else torch.int64
        flat = tensor.reshape(-1)

        def pieces():
            for part in flat.split(adapter.CHUNK):
                part = part.to(wide).contiguous()
                yield ctypes.string_at(part.data_ptr(), part.numel() * part.element_size())

        return adapter.Output(names[tensor.dtype], tuple(tensor.shape), pieces)

    def forget(self):
        self.torch.compiler.reset()

    def counters(self):
        return self.torch._dynamo.utils.counters

    def evidence(self):
        inductor, autograd = self.counters()["inductor"], self.counters()["aot_autograd"]
        graph_hits, whole_hits = inductor["fxgraph_cache_hit"], autograd["autograd_cache_hit"]
        # A hit of the outer cache may answer without asking the inner one.
        return {"misses": inductor["fxgraph_cache_miss"] + inductor["fxgraph_cache_bypass"], "disk_hits": max(graph_hits, whole_hits), "memory_hits": 0}

    def stats(self):
        counters = self.counters()
        breaks = [{"reason": "torch", "detail": reason} for reason in counters["graph_break"]]
        return {"graphs": counters["stats"]["unique_graphs"], "breaks": breaks, "fallbacks": []}


if __name__ == "__main__":
    adapter.serve(Torch())
