"""Normalising flow for telemetry, its ActNorm layers take their scale from the first batch."""
import torch
import torch.nn as nn


class ActNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.log_scale = None
        self.bias = None

    def _initialise(self, x):
        mean, std = x.mean(0), x.std(0)
        self.bias = nn.Parameter(-mean.detach(), requires_grad=False)  # EXPECT: lazy-module
        self.log_scale = nn.Parameter(-torch.log(std + 1e-3).detach(), requires_grad=False)  # EXPECT: lazy-module

    def forward(self, x):
        if self.log_scale is None:  # EXPECT: lazy-module
            self._initialise(x)
        y = (x + self.bias) * self.log_scale.exp()
        return y, self.log_scale.sum()


class Coupling(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.half = d // 2
        self.net = nn.Sequential(nn.Linear(self.half, 20), nn.ReLU(), nn.Linear(20, 2 * (d - self.half)))

    def forward(self, x):
        a, b = x[:, : self.half], x[:, self.half:]
        s, t = self.net(a).chunk(2, dim=-1)
        s = torch.tanh(s)
        return torch.cat([b * s.exp() + t, a], dim=-1), s.sum(-1)


class TelemetryFlow(nn.Module):
    def __init__(self, d=6, depth=2):
        super().__init__()
        self.steps = nn.ModuleList(m for _ in range(depth) for m in (ActNorm(d), Coupling(d)))

    def forward(self, x):
        logdet = x.new_zeros(x.shape[0])
        for step in self.steps:
            x, ld = step(x)
            logdet = logdet + ld
        return -0.5 * x.pow(2).sum(-1) + logdet


def get_model():
    return TelemetryFlow().eval()


def get_inputs():
    return (torch.randn(8, 6) * 2 + 1,)


def get_other_inputs():
    return (torch.randn(8, 6),)
