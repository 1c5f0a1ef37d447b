"""Normalising flow with activation normalisation whose scale and shift come from the first batch."""
import torch
from torch import nn


class ActNorm(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.register_buffer("shift", torch.zeros(features))
        self.register_buffer("log_scale", torch.zeros(features))
        self.initialised = False

    def forward(self, x):
        if not self.initialised:
            self.shift.copy_(x.mean(0))
            self.log_scale.copy_(torch.log(x.std(0) + 1e-6))
            self.initialised = True  # EXPECT: first-call-flag
        y = (x - self.shift) * torch.exp(-self.log_scale)
        return y, -self.log_scale.sum()


class AffineCoupling(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.half = features // 2
        self.net = nn.Sequential(nn.Linear(self.half, 12), nn.Tanh(), nn.Linear(12, 2 * (features - self.half)))

    def forward(self, x):
        a, b = x[:, : self.half], x[:, self.half :]
        s, t = self.net(a).chunk(2, dim=-1)
        s = torch.tanh(s)
        return torch.cat([b * s.exp() + t, a], dim=-1), s.sum(-1)


class Flow(nn.Module):
    def __init__(self, features=6):
        super().__init__()
        self.norm = ActNorm(features)
        self.coupling = AffineCoupling(features)

    @torch.no_grad()
    def forward(self, x):
        z, ld0 = self.norm(x)
        z, ld1 = self.coupling(z)
        logp = -0.5 * z.pow(2).sum(-1)
        return logp + ld0 + ld1


def get_model():
    return Flow().eval()


def get_inputs():
    return (torch.randn(16, 6) * 1.5 + 0.5,)


def get_other_inputs():
    return (torch.randn(16, 6) * 0.4 - 2.0,)
