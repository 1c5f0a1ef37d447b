import torch
from torch import nn


class TrustRegionHead(nn.Module):
    """Outputs a policy step whose length is limited by a trust region radius."""

    def __init__(self, obs=9, act=4, radius=0.5):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, 16), nn.ELU())
        self.step = nn.Linear(16, act)
        self.prior = nn.Linear(16, act)
        self.radius = radius

    def shorten(self, delta):
        length = float(torch.linalg.vector_norm(delta))
        factor = min(1.0, self.radius / (length + 1e-8))
        return delta * factor

    def forward(self, obs):
        z = self.trunk(obs)
        base = self.prior(z)
        return base + self.shorten(self.step(z)), base


def get_model():
    return TrustRegionHead().eval()


def get_inputs():
    return (torch.randn(1, 9) * 0.1,)


def get_other_inputs():
    return (torch.randn(1, 9) * 15,)
