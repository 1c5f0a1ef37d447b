"""Optimal-transport matcher of two point clouds (log-domain Sinkhorn)."""
import torch
from torch import nn


class PointEncoder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, pts):
        return nn.functional.normalize(self.net(pts), dim=-1)


class Sinkhorn(nn.Module):
    def __init__(self, eps=0.3, tol=1e-3, max_iter=40):
        super().__init__()
        self.eps, self.tol, self.max_iter = eps, tol, max_iter

    def forward(self, cost):
        k = -cost / self.eps
        u = torch.zeros_like(cost[:, 0])
        v = torch.zeros_like(cost[0])
        err = torch.full((), float("inf"))
        it = 0
        while err > self.tol and it < self.max_iter:  # EXPECT: data-dependent-loop
            u_new = -torch.logsumexp(k + v[None, :], dim=1)
            v = -torch.logsumexp(k + u_new[:, None], dim=0)
            err = (u_new - u).abs().max()
            u = u_new
            it += 1
        return torch.exp(k + u[:, None] + v[None, :])


class CloudMatcher(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.enc = PointEncoder(dim)
        self.ot = Sinkhorn()

    def forward(self, src, dst):
        a, b = self.enc(src), self.enc(dst)
        plan = self.ot(1.0 - a @ b.T)
        return plan @ dst / plan.sum(1, keepdim=True), plan


def get_model():
    torch.manual_seed(6)
    return CloudMatcher().eval()


def get_inputs():
    return torch.randn(7, 3), torch.randn(7, 3)


def get_other_inputs():
    return torch.randn(7, 3) * 5, torch.rand(7, 3) * 0.1
