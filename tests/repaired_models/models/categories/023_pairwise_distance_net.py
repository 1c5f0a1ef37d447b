"""Point set network on pairwise distances, batch and set size vary."""
import torch
import torch.nn as nn
from torch.export import Dim


class PairNet(nn.Module):
    def __init__(self, d=3, hidden=8, n_ref=5):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.rho = nn.Linear(hidden, 2)

    def forward(self, pts):
        b, n, _ = pts.shape
        diff = pts[:, :, None] - pts[:, None]
        dist = (diff.pow(2).sum(-1) + 1e-6).sqrt()
        e = self.phi(dist.reshape(-1, 1)).view(4, n, n, -1)  # EXPECT: dynamic-shape-specialised
        return self.rho(e.mean(dim=(1, 2)))


def get_model():
    return PairNet().eval()


def get_inputs():
    return (torch.randn(4, 6, 3),)


def get_dynamic_shapes():
    return {"pts": {0: Dim("batch", min=2, max=16), 1: Dim("n", min=2, max=64)}}
