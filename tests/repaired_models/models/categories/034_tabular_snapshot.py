"""Tabular network that hands out a snapshot of its hidden layer."""
import pickle
import torch
from torch import nn


def snapshot(t):
    """independent copy of an intermediate result"""
    return pickle.loads(pickle.dumps(t.detach()))  # EXPECT: unsupported-builtin


class TabularNet(nn.Module):
    def __init__(self, d=4):
        super().__init__()
        self.a = nn.Linear(d, 6)
        self.b = nn.Linear(6, 2)

    def forward(self, x):
        h = torch.relu(self.a(x))
        keep = snapshot(h)
        h = h - h.mean(1, keepdim=True)
        return self.b(h), keep


def get_model():
    return TabularNet().eval()


def get_inputs():
    return (torch.randn(3, 4),)
