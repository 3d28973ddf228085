"""backend=peer:torch_eager: PyTorch without torch.compile, on the CPU."""
import adapter
import torch_adapter


class TorchEager(torch_adapter.Torch):
    def compile(self, function, mode):
        return function

    def forget(self):
        pass

    def evidence(self):
        return None  # nothing is compiled

    def stats(self):
        return None


if __name__ == "__main__":
    adapter.serve(TorchEager())
