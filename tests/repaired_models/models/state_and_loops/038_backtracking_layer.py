"""Optimisation layer: one proximal gradient step whose length is found by backtracking."""
import torch
from torch import nn


class BacktrackingStep(nn.Module):
    def __init__(self, d=6, m=8, tries=5, t0=0.5, shrink=0.5, armijo=0.5):
        super().__init__()
        self.A = nn.Parameter(torch.randn(m, d) * 0.7)
        self.tries, self.t0, self.shrink, self.armijo = tries, t0, shrink, armijo

    def objective(self, x, b):
        r = self.A @ x - b
        return 0.5 * r.dot(r) + 0.05 * x.pow(4).sum()

    def slope(self, x, b):
        return self.A.T @ (self.A @ x - b) + 0.2 * x.pow(3)

    @torch.no_grad()
    def forward(self, x, b):
        f0, g = self.objective(x, b), self.slope(x, b)
        t = self.t0
        for _ in range(self.tries):
            trial = x - t * g
            if self.objective(trial, b) <= f0 - self.armijo * t * g.dot(g):  # EXPECT: break-on-data
                break
            t *= self.shrink
        else:  # EXPECT: loop-else
            trial, t = x, 0.0
        return trial, torch.as_tensor(t)


def get_model():
    return BacktrackingStep().eval()


def get_inputs():
    return torch.randn(6), torch.randn(8)


def get_other_inputs():
    return torch.randn(6) * 12, torch.randn(8)
