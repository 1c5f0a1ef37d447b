"""Tabular model: feature groups are consumed in order of their gate value."""
import torch
from torch import nn


class GroupGate(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.fc = nn.Linear(d, 1)

    def forward(self, x):
        return torch.sigmoid(self.fc(x)).mean()


class OrderedGroups(nn.Module):
    def __init__(self, groups=(3, 4, 5), hidden=8):
        super().__init__()
        self.sizes = list(groups)
        self.gates = nn.ModuleList(GroupGate(g) for g in groups)
        self.proj = nn.ModuleList(nn.Linear(g, hidden) for g in groups)
        self.cell = nn.GRUCell(hidden, hidden)
        self.out = nn.Linear(hidden, 2)

    def forward(self, table):
        parts = table.split(self.sizes, dim=1)
        gains = [gate(p) for gate, p in zip(self.gates, parts)]
        feats = [proj(p) for proj, p in zip(self.proj, parts)]
        ranked = sorted(zip(gains, feats), key=lambda gf: gf[0], reverse=True)
        h = torch.zeros_like(feats[0])
        for _, f in ranked:
            h = self.cell(f, h)
        return self.out(h)


def get_model():
    return OrderedGroups().eval()


def get_inputs():
    return (torch.randn(4, 12),)


def get_other_inputs():
    x = torch.randn(4, 12)
    x[:, :3] *= 10
    x[:, 3:7] *= -8
    return (x,)
