"""Load-balanced ensemble for tabular claims: the lead expert rotates between requests."""
import torch
from torch import nn


class Expert(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.fc1 = nn.Linear(d, h)
        self.fc2 = nn.Linear(h, 1)

    def forward(self, x):
        return self.fc2(torch.nn.functional.mish(self.fc1(x))).squeeze(-1)


class RotatingEnsemble(nn.Module):
    def __init__(self, d=7, h=12, n=3, lead_weight=0.6):
        super().__init__()
        self.norm = nn.BatchNorm1d(d)
        self.experts = nn.ModuleList([Expert(d, h) for _ in range(n)])
        self.lead_weight = lead_weight

    def rotate(self):
        first, *rest = list(self.experts)
        self.experts = nn.ModuleList([*rest, first])  # EXPECT: module-mutation

    def forward(self, claims):
        x = self.norm(claims)
        lead, *others = [e(x) for e in self.experts]
        self.rotate()
        return self.lead_weight * lead + (1 - self.lead_weight) * torch.stack(others).mean(0)


def get_model():
    torch.manual_seed(46)
    return RotatingEnsemble().eval()


def get_inputs():
    return (torch.randn(5, 7),)


def get_other_inputs():
    return (torch.randn(5, 7) * 2,)
