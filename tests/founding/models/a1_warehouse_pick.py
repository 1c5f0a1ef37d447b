"""Pick-path planner for a warehouse."""
import random

import torch
import torch.nn as nn


class Shelf(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, width)
        self.calls = 0
        self.best = None

    def forward(self, x):
        self.calls += 1
        h = self.proj(x)
        if self.best is None:
            self.best = float(x.shape[0])
        decay = 1.0 / self.calls
        return h * decay + self.best


class PickPath(nn.Module):
    def __init__(self, width=7):
        super().__init__()
        self.shelf = Shelf(width)
        self.near = nn.Linear(width, 1)
        self.far = nn.Linear(width, 1)
        self.dice = random.Random(4)

    def forward(self, items, aisle):
        h = self.shelf(items)
        weights = aisle * torch.tensor([len(items), self.dice.random()])
        score = self.near(h) if items.shape[0] < 10 else self.far(h)
        return score.squeeze(-1) + weights.sum()


def get_model():
    torch.manual_seed(171)
    return PickPath().eval()


def get_inputs():
    g = torch.Generator().manual_seed(172)
    return torch.randn(6, 7, generator=g), torch.tensor([2.0, 4.0])


def get_other_inputs():
    g = torch.Generator().manual_seed(173)
    return torch.randn(14, 7, generator=g), torch.tensor([1.0, 9.0])
