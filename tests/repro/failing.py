"""Models that fail in one way each."""

import ctypes
import random

import torch
from torch import nn


class Refused(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x, scale=1.0):
        if self.linear(x).sum() > 0:
            return x * scale
        return -x

    @staticmethod
    def inputs():
        return (torch.randn(2, 3),)

    @staticmethod
    def kwargs():
        return {"scale": 2.0}


class NarrowsItsBatch(nn.Module):
    def forward(self, x):
        return x.reshape(4, 3) + 1

    @staticmethod
    def inputs():
        return (torch.randn(4, 3),)

    @staticmethod
    def dynamic_shapes():
        return {"x": {0: torch.export.Dim("batch", min=2, max=64)}}


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Bakes(nn.Module):
    def forward(self, x):
        return x * random.random()  # noqa: S311 (the sin shown)

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class SwallowsTheRefusal(nn.Module):
    """Right on the sample, wrong on other values."""

    def forward(self, x):
        try:
            positive = bool(x.sum() > 0)
        except Exception:  # noqa: BLE001 (the sin shown)
            positive = True
        return x * 2 if positive else x * 3

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Segfaults(nn.Module):
    def forward(self, x):
        ctypes.string_at(0)
        return x

    @staticmethod
    def inputs():
        return (torch.ones(3),)


class Raises(nn.Module):
    def forward(self, x):
        return x @ torch.ones(7, 7)

    @staticmethod
    def inputs():
        return (torch.ones(3),)
