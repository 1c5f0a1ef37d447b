"""Convolution whose gain cycles through a schedule, one entry a call."""
import itertools
import torch
import torch.nn as nn

_TICK = itertools.count()


class CyclicGain(nn.Module):
    GAINS = (1.0, 0.5, 0.25)

    def __init__(self, ch=3):
        super().__init__()
        self.a = nn.Conv2d(ch, 4, 3, padding=1)
        self.b = nn.Conv2d(4, ch, 1)

    def forward(self, x):
        gain = self.GAINS[next(_TICK) % len(self.GAINS)]  # EXPECT: baked-constant
        return x + gain * self.b(torch.relu(self.a(x)))


def get_model():
    global _TICK
    _TICK = itertools.count()
    return CyclicGain().eval()


def get_inputs():
    return (torch.randn(1, 3, 6, 6),)
