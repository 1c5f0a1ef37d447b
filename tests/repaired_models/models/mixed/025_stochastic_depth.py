"""Residual audio tagger; monte-carlo stochastic depth stays on for uncertainty estimates."""
import random

import torch
from torch import nn


class DropPath(nn.Module):
    def __init__(self, fn, p):
        super().__init__()
        self.fn, self.p = fn, p

    def forward(self, x):
        if random.random() < self.p:  # EXPECT: random-python
            return x
        return x + self.fn(x)


def conv_unit(ch):
    return nn.Sequential(
        nn.BatchNorm1d(ch), nn.GELU(), nn.Conv1d(ch, ch, 9, padding=4, groups=4), nn.Conv1d(ch, ch, 1)
    )


class AudioTagger(nn.Module):
    def __init__(self, ch=16, depth=5, tags=6, p_max=0.6):
        super().__init__()
        self.front = nn.Conv1d(1, ch, 16, stride=8, padding=4)
        rates = torch.linspace(0.2, p_max, depth).tolist()
        self.tower = nn.Sequential(*(DropPath(conv_unit(ch), p) for p in rates))
        self.out = nn.Linear(ch, tags)

    def forward(self, wave):
        h = self.tower(self.front(wave.unsqueeze(1)))
        return self.out(h.mean(-1))


def get_model():
    torch.manual_seed(33)
    return AudioTagger().eval()


def get_inputs():
    return (torch.randn(2, 128),)


def get_other_inputs():
    return (torch.randn(2, 128) * 2,)
