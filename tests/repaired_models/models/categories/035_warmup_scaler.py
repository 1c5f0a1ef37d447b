"""Encoder whose output fades in over the first calls."""
import torch
from torch import nn


class Warmup(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.length = length
        self.calls = 0

    def forward(self, x):
        self.calls += 1  # EXPECT: mutable-module-state
        return x * min(1.0, self.calls / self.length)


class FadeIn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 4, 3)
        self.warm = Warmup(8)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        h = torch.relu(self.conv(x)).mean(-1)
        return self.head(self.warm(h))


def get_model():
    return FadeIn().eval()


def get_inputs():
    return (torch.randn(2, 2, 9),)
