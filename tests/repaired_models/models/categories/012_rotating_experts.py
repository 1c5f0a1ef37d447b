"""Round robin over expert layers."""
import torch
from torch import nn


class RoundRobin(nn.Module):
    def __init__(self, d=6, n=3):
        super().__init__()
        self.stem = nn.Linear(d, d)
        self.experts = nn.ModuleList(nn.Linear(d, 2) for _ in range(n))

    def rotate(self):
        mods = list(self.experts)
        self.experts = nn.ModuleList(mods[1:] + mods[:1])  # EXPECT: module-mutation

    def forward(self, x):
        h = torch.relu(self.stem(x))
        y = self.experts[0](h)
        self.rotate()
        return y


def get_model():
    return RoundRobin().eval()


def get_inputs():
    return (torch.randn(4, 6),)
