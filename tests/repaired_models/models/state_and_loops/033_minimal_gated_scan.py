"""Gated recurrence over time for sequences of any length, with a peak-hold output."""
import torch
from torch import nn
from torch.export import Dim


class GatedScan(nn.Module):
    def __init__(self, d=5, hidden=7):
        super().__init__()
        self.gate = nn.Linear(d + hidden, hidden)
        self.cand = nn.Linear(d, hidden)
        self.hidden = hidden

    def forward(self, x):
        h = x.new_zeros(x.shape[0], self.hidden)
        outs = []
        for t in range(x.size(1)):  # EXPECT: scan-over-dynamic-dim
            xt = x[:, t]
            g = torch.sigmoid(self.gate(torch.cat([xt, h], dim=1)))
            h = torch.maximum(g * h, torch.tanh(self.cand(xt)))
            outs.append(h)
        return torch.stack(outs, dim=1)


def get_model():
    return GatedScan().requires_grad_(False).eval()


def get_inputs():
    return (torch.randn(2, 6, 5),)


def get_other_inputs():
    return (torch.randn(2, 11, 5),)


def get_dynamic_shapes():
    return ({1: Dim("time", min=2, max=64)},)
