"""Portfolio layer: long-only weights whose entropy meets a target, temperature found by bisection."""
import torch
from torch import nn


def entropy(w):
    return -(w * (w + 1e-9).log()).sum(-1)


class EntropyBudget(nn.Module):
    def __init__(self, assets=10, factors=6, target=1.6, tol=1e-3):
        super().__init__()
        self.alpha = nn.Linear(factors, 1)
        self.target, self.tol = target, tol
        self.register_buffer("lo0", torch.tensor(0.01))

    def solve(self, scores):
        lo, hi = self.lo0, scores.std() * 10 + 0.02
        while hi - lo > self.tol:  # EXPECT: while-on-data
            mid = (lo + hi) / 2
            low_side = entropy(torch.softmax(scores / mid, -1)) < self.target
            lo = torch.where(low_side, mid, lo)
            hi = torch.where(low_side, hi, mid)
        return (lo + hi) / 2

    def forward(self, exposures, returns):
        scores = self.alpha(exposures).squeeze(-1)
        tau = self.solve(scores)
        w = torch.softmax(scores / tau, -1)
        return {"weights": w, "tau": tau, "pnl": returns @ w}


def get_model():
    return EntropyBudget().eval()


def get_inputs():
    return torch.randn(10, 6), torch.randn(30, 10)


def get_other_inputs():
    return torch.randn(10, 6) * 8, torch.randn(30, 10)
