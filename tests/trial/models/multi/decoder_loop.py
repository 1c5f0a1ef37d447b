"""Greedy decoding with a cache in a plain list."""

import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = nn.Linear(6, 6)
        self.past = []

    def forward(self, x):
        for _ in range(4):
            x = torch.tanh(self.step(x))
            if bool((x.abs() < 0.01).all()):  # error: data-dependent-branch
                break
        self.past.append(x)  # error: state-on-self
        while x.norm() > 1.5:  # error: data-dependent-branch
            x = x / 2
        limit = x.abs().max().item()
        if limit > 10:  # error: data-dependent-branch
            x = x / limit
        return x + len(self.past)


model = Decoder().eval()
example_args = (torch.randn(2, 6),)
