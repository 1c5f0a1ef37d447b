"""Attention whose temperature follows the spread of the scores."""
import math
import torch
import torch.nn as nn


def temperature(scores):
    spread = scores.std().item()
    return 1.0 + math.log1p(spread)  # EXPECT: tensor-to-python


class SharpAttention(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.q = nn.Linear(d, d)
        self.k = nn.Linear(d, d)
        self.v = nn.Linear(d, d)
        self.scale = 1 / math.sqrt(d)

    def forward(self, x):
        s = self.q(x) @ self.k(x).transpose(1, 2) * self.scale
        w = torch.softmax(s * temperature(s), dim=-1)
        return w @ self.v(x)


def get_model():
    return SharpAttention().eval()


def get_inputs():
    return (torch.randn(2, 5, 8),)


def get_other_inputs():
    return (torch.randn(2, 5, 8) * 4,)
