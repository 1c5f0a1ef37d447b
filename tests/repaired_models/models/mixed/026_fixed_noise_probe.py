"""Normalising flow with a reproducible latent probe: the same reference noise at each call."""
import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, dim, hidden, flip):
        super().__init__()
        self.flip = flip
        half = dim // 2
        self.net = nn.Sequential(nn.Linear(half, hidden), nn.Tanh(), nn.Linear(hidden, 2 * half))

    def forward(self, z):
        a, b = z.chunk(2, dim=-1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=-1)
        b = b * torch.exp(torch.tanh(s)) + t
        return torch.cat((b, a) if self.flip else (a, b), dim=-1)


class FlowProbe(nn.Module):
    def __init__(self, dim=6, hidden=16, layers=4, seed=1234):
        super().__init__()
        self.flow = nn.Sequential(*[Coupling(dim, hidden, bool(i % 2)) for i in range(layers)])
        self.context = nn.Linear(3, dim)
        self.seed = seed
        self.dim = dim

    def reference_noise(self, n):
        torch.manual_seed(self.seed)  # EXPECT: random-torch-state
        return torch.randn(n, self.dim)

    def forward(self, ctx):
        z = self.reference_noise(ctx.shape[0]) + self.context(ctx)
        x = self.flow(z)
        return x, x.square().mean(-1)


def get_model():
    torch.manual_seed(34)
    return FlowProbe().eval()


def get_inputs():
    return (torch.randn(4, 3),)


def get_other_inputs():
    return (torch.randn(4, 3) * 2,)
