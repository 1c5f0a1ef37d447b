"""Sensor regressor with an optional rescaling of saturated readings."""
import contextlib
import torch
import torch.nn as nn


class Rescale(nn.Module):
    def __init__(self, ceiling=2.0):
        super().__init__()
        self.ceiling = ceiling

    def forward(self, x):
        y = x
        with contextlib.suppress(RuntimeError, ValueError):  # EXPECT: exception-control-flow
            peak = x.abs().max()
            if peak > self.ceiling:  # EXPECT: exception-control-flow
                y = x * (self.ceiling / peak)
        return y


class SensorNet(nn.Module):
    def __init__(self, n=6):
        super().__init__()
        self.pre = Rescale()
        self.net = nn.Sequential(nn.Linear(n, 12), nn.ELU(), nn.Linear(12, 1))

    def forward(self, x):
        return self.net(self.pre(x))


def get_model():
    return SensorNet().eval()


def get_inputs():
    return (torch.rand(3, 6),)


def get_other_inputs():
    return (torch.rand(3, 6) * 5 + 5,)
