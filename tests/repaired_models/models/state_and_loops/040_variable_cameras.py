"""Occupancy fusion over a rig with any number of cameras, folded in one after the other."""
import torch
from torch import nn
from torch.export import Dim


class RigFusion(nn.Module):
    def __init__(self, d=5, cells=8):
        super().__init__()
        self.lift = nn.Linear(d, cells)
        self.trust = nn.Linear(d, 1)

    def forward(self, views):
        grid = None
        for v in views:  # EXPECT: loop-over-dynamic-rows
            evidence = self.lift(v)
            if grid is None:
                grid = evidence
            else:
                k = torch.sigmoid(self.trust(v))
                grid = torch.tanh((1 - k) * grid + k * evidence)
        return grid


def get_model():
    return RigFusion().requires_grad_(False).eval()


def get_inputs():
    return (torch.randn(4, 5),)


def get_other_inputs():
    return (torch.randn(6, 5),)


def get_dynamic_shapes():
    return ({0: Dim.AUTO},)
