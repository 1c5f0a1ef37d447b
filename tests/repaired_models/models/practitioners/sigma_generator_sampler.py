import torch
from torch import nn


def karras_sigmas(n=6, lo=0.05, hi=5.0, rho=7.0):
    while True:
        for i in range(n):
            r = i / (n - 1)
            yield (hi ** (1 / rho) + r * (lo ** (1 / rho) - hi ** (1 / rho))) ** rho


class EulerStep(nn.Module):
    """One Euler step of an EDM sampler per call."""

    def __init__(self, d=5):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d + 1, 16), nn.SiLU(), nn.Linear(16, d))
        self.sigmas = karras_sigmas()

    def forward(self, x):
        s = next(self.sigmas)
        c = torch.full((x.shape[0], 1), s).log() / 4
        den = self.net(torch.cat([x / (1 + s * s) ** 0.5, c], dim=-1))
        return x - 0.2 * (x - den)


def get_model():
    return EulerStep().eval()


def get_inputs():
    return (torch.randn(2, 5),)


def get_other_inputs():
    return (torch.randn(2, 5) * 3,)
