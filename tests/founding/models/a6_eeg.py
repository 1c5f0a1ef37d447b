"""Sleep staging from EEG, packed for a server with AOTInductor."""
import sys

import torch
from torch import nn
from torch.export import Dim, export


class Spectrum(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.window = window
        self.register_buffer("taper", torch.hann_window(window))

    def forward(self, signal):
        frames = signal.unfold(-1, self.window, self.window // 2) * self.taper
        return torch.fft.rfft(frames).abs().log1p()


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score = nn.Linear(dim, 1)

    def forward(self, frames):
        weight = self.score(frames).softmax(-2)
        return (weight * frames).sum(-2)


class Dither(nn.Module):
    """Breaks the ties of the converter."""

    def forward(self, signal):
        return signal + torch.rand_like(signal) / 4096


class SleepStages(nn.Module):
    STAGES = ("wake", "rem", "n1", "n2", "n3")

    def __init__(self, channels=2, window=16):
        super().__init__()
        self.dither = Dither()
        self.spectrum = Spectrum(window)
        self.attend = Attention(window // 2 + 1)
        self.out = nn.Linear(channels * (window // 2 + 1), len(self.STAGES))

    def forward(self, signal):
        frames = self.spectrum(self.dither(signal))
        return self.out(self.attend(frames).flatten(1)).softmax(-1)


torch.manual_seed(22)
model = SleepStages().eval()
example_inputs = (torch.randn(4, 2, 128),)
nights = Dim("nights", min=1, max=256)
dynamic_shapes = ({0: nights},)


def pack(path):
    with torch.no_grad():
        program = export(model, example_inputs, dynamic_shapes=dynamic_shapes)
    return torch._inductor.aoti_compile_and_package(
        program, package_path=path, inductor_configs={"max_autotune": False}
    )


if __name__ == "__main__":
    runner = torch._inductor.aoti_load_package(pack(sys.argv[1] if len(sys.argv) > 1 else "/tmp/sleep.pt2"))
    print(runner(*example_inputs))
