"""Linear layer divided by its data covariance norm, found by power iteration without an iteration cap."""
import torch
from torch import nn


def top_eigen(mat, rel=1e-3):
    v = torch.ones(mat.shape[0]) / mat.shape[0] ** 0.5
    lam = v @ mat @ v
    while True:
        w = mat @ v
        v = w / w.norm()
        new = v @ mat @ v
        done = torch.abs(new - lam) <= rel * torch.abs(new)
        lam = new
        if done:  # EXPECT: while-true-break-on-data
            return lam, v


class CovarianceScaled(nn.Module):
    def __init__(self, d=6, out=4):
        super().__init__()
        self.inner = nn.Linear(d, d)
        self.out = nn.Linear(d, out)

    @torch.no_grad()
    def forward(self, x):
        h = self.inner(x)
        cov = h.T @ h / len(h) + 1e-3 * torch.eye(h.shape[1])
        lam, v = top_eigen(cov)
        return self.out(h / lam.sqrt()), (h @ v).abs()


def get_model():
    return CovarianceScaled().eval()


def get_inputs():
    return (torch.randn(10, 6),)


def get_other_inputs():
    return (torch.randn(10, 6) * torch.tensor([6.0, 1, 1, 1, 1, 0.5]),)
