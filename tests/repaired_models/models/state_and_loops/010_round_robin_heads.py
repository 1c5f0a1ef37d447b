"""Multi-task probe that serves its task heads in rotation, one head per request."""
import itertools

import torch
from torch import nn


class RoundRobinProbe(nn.Module):
    TASKS = ("sentiment", "topic", "style")

    def __init__(self, d=14, classes=6):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d, d), nn.ELU())
        self.heads = nn.ModuleDict({t: nn.Linear(d, classes) for t in self.TASKS})
        self.turn = itertools.cycle(self.TASKS)

    def forward(self, x):
        task = next(self.turn)  # EXPECT: itertools-cycle-state
        z = self.body(x) + x
        return self.heads[task](z)


def get_model():
    return RoundRobinProbe().eval()


def get_inputs():
    return (torch.randn(4, 14),)


def get_other_inputs():
    return (torch.rand(4, 14),)
