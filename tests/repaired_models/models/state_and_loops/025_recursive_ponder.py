"""Pondering cell that calls itself until it wants to halt."""
import torch
from torch import nn


class Ponder(nn.Module):
    def __init__(self, d=10, max_depth=7, budget=0.9):
        super().__init__()
        self.cell = nn.GRUCell(d, d)
        self.halt = nn.Linear(d, 1)
        self.max_depth = max_depth
        self.budget = budget
        self.out = nn.Linear(d, 2)

    def think(self, x, h, spent, depth):
        h = self.cell(x, h)
        spent = spent + 0.5 * torch.sigmoid(4 * self.halt(h)).mean()
        if depth + 1 >= self.max_depth or spent >= self.budget:  # EXPECT: recursion-until-data
            return h, spent
        return self.think(x, h, spent, depth + 1)

    def forward(self, x):
        h0 = torch.zeros_like(x)
        h, spent = self.think(x, h0, x.new_zeros(()), 0)
        return self.out(h), spent


def get_model():
    return Ponder().eval()


def get_inputs():
    return (torch.randn(1, 10),)


def get_other_inputs():
    return (torch.randn(1, 10) * 5,)
