"""Models whose lowering is timed: one that is nothing but the compilers' start, one of the size of a ResNet-18."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn


class MLP(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))

    @staticmethod
    def inputs() -> tuple[torch.Tensor]:
        return (torch.randn(2, 16),)


class Residual(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(after), nn.BatchNorm2d(after)])
        same = before == after and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norms[0](self.first(x)))
        return torch.relu(self.norms[1](self.second(y)) + self.shortcut(x))


class ResNet18(nn.Sequential):
    """11 million weights, 20 convolutions."""

    def __init__(self) -> None:
        widths = (64, 64, 64, 128, 128, 256, 256, 512, 512)
        blocks = [Residual(a, b, 1 if a == b else 2) for a, b in pairwise(widths)]
        stem = (nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        super().__init__(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))

    @staticmethod
    def inputs() -> tuple[torch.Tensor]:
        return (torch.randn(1, 3, 64, 64),)
