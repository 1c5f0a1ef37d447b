"""Runs the rows of a batch through the encoder in chunks of random order."""
import numpy as np
import torch
from torch import nn
from torch.export import Dim


class ChunkedEncoder(nn.Module):
    def __init__(self, d=5, out=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 9), nn.SiLU(), nn.Linear(9, out))

    def forward(self, x):
        order = torch.from_numpy(np.random.permutation(x.shape[0]))  # EXPECT: random-python
        y = torch.cat([self.enc(part) for part in x[order].chunk(2)])
        back = torch.argsort(order)
        return y[back]


def get_model():
    return ChunkedEncoder().eval()


def get_inputs():
    return (torch.randn(6, 5),)


def get_other_inputs():
    return (torch.randn(9, 5),)


def get_dynamic_shapes():
    return {"x": {0: Dim("batch", min=4, max=64)}}
