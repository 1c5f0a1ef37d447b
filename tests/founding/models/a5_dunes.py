"""Dune migration from altimetry: exported, stored with its card, loaded, decomposed with an own rule for one operator."""
import io
import json

import torch
from torch import nn
from torch.export import default_decompositions, export


class Ripple(nn.Module):
    """Filters the profile in the frequency domain."""

    def __init__(self, size):
        super().__init__()
        self.gate = nn.Parameter(torch.ones(size // 2 + 1))

    def forward(self, profile):
        spectrum = torch.fft.rfft(profile, norm="ortho")
        return torch.fft.irfft(spectrum * self.gate, n=profile.shape[-1], norm="ortho")


class Classes(nn.Module):
    def __init__(self, edges):
        super().__init__()
        self.register_buffer("edges", torch.tensor(edges))

    def forward(self, height):
        return torch.bucketize(height, self.edges)


class DuneModel(nn.Module):
    def __init__(self, size=32, width=8):
        super().__init__()
        self.ripple = Ripple(size)
        self.classes = Classes([-0.5, 0.0, 0.5])
        self.embed = nn.Embedding(4, width)
        self.out = nn.Sequential(nn.Linear(width, width), nn.Hardswish(), nn.Linear(width, 2))

    def forward(self, profile):
        smooth = self.ripple(profile)
        drift = torch.linalg.vector_norm(smooth.diff(dim=-1), dim=-1, keepdim=True)
        return self.out(self.embed(self.classes(smooth)).mean(1)) * drift


def hardswish_by_hand(x):
    return x * (x + 3).clamp(0, 6) / 6


torch.manual_seed(21)
model = DuneModel().eval()
example_inputs = (torch.randn(3, 32),)


def stored(program, **card):
    file = io.BytesIO()
    torch.export.save(program, file, extra_files={"card.json": json.dumps(card)})
    file.seek(0)
    return file


def main():
    program = export(model, example_inputs)
    extra = {"card.json": ""}
    loaded = torch.export.load(stored(program, version=3), extra_files=extra)
    rules = default_decompositions()
    rules[torch.ops.aten.hardswish.default] = hardswish_by_hand
    core = loaded.run_decompositions(rules)
    return json.loads(extra["card.json"]), core


if __name__ == "__main__":
    print(main()[1].graph_module.code)
