"""Attention with alpha-entmax weights; the threshold of each row is bracketed by bisection."""
import torch
from torch import nn


def entmax_row(scores: torch.Tensor, alpha: float, n_iter: int = 24) -> torch.Tensor:
    z = scores * (alpha - 1)
    lo, hi = z.max() - 1, z.max()
    power = 1.0 / (alpha - 1)
    for _ in range(n_iter):
        mid = (lo + hi) / 2
        mass = torch.clamp(z - mid, min=0).pow(power).sum()
        if mass >= 1:  # EXPECT: bisection-branch-on-data
            lo = mid
        else:
            hi = mid
    p = torch.clamp(z - lo, min=0).pow(power)
    return p / p.sum()


class EntmaxAttention(nn.Module):
    def __init__(self, d=6, alpha=1.5):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3))
        self.alpha = alpha

    def forward(self, x):
        logits = self.q(x) @ self.k(x).T
        weights = torch.stack([entmax_row(r, self.alpha) for r in logits])
        return weights @ self.v(x), weights


def get_model():
    return EntmaxAttention().requires_grad_(False).eval()


def get_inputs():
    return (torch.randn(4, 6) * 2,)


def get_other_inputs():
    return (torch.randn(4, 6) * 5,)
