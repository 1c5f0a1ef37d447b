"""Local attention whose number of blocks follows the sequence length."""
import math
import torch
from torch import nn
from torch.export import Dim


class LocalAttention(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.qkv = nn.Linear(d, 3 * d)

    @staticmethod
    def log_scale(t):
        return math.log(float(t)) / math.log(8.0)  # EXPECT: dynamic-shape-specialised

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        s = q @ k.transpose(1, 2) * self.log_scale(x.shape[1])  # EXPECT: dynamic-shape-specialised
        return s.softmax(-1) @ v


def get_model():
    return LocalAttention().eval()


def get_inputs():
    return (torch.randn(2, 8, 6),)


def get_other_inputs():
    return (torch.randn(2, 13, 6),)


def get_dynamic_shapes():
    return {"x": {1: Dim.AUTO}}
