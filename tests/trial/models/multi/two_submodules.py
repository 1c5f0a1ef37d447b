"""Each of the submodules has its own defect, and so has the outer module."""

import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x):
        if x.mean() > 0:  # error: data-dependent-branch
            return x
        return -x


class Memo(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x):
        key = id(x) % 1_000_003  # error: object-identity
        self.cache[key] = x.shape[0]
        return x * (1 + key)


class Rounds(nn.Module):
    def forward(self, x):
        return x + torch.from_numpy(x.detach().numpy().round())  # error: numpy-round-trip


class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Gate(), Memo(), Rounds())

    def forward(self, x):
        x = self.blocks(x)
        assert torch.isfinite(x).all()  # error: data-dependent-branch
        return x


model = Outer().eval()
example_args = (torch.randn(3, 4),)
