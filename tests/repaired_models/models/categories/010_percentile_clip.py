"""Feature normaliser that clips at a percentile before the encoder."""
import numpy as np
import torch
from torch import nn


def percentile_clip(x, q):
    hi = np.percentile(x.detach().numpy(), q)  # EXPECT: numpy-interop
    return torch.clamp(x, max=float(hi))  # EXPECT: numpy-interop


class ClipEncoder(nn.Module):
    def __init__(self, d=6, q=80):
        super().__init__()
        self.q = q
        self.enc = nn.Linear(d, 4)
        self.dec = nn.Linear(4, d)

    def forward(self, x):
        x = percentile_clip(x, self.q)
        return self.dec(torch.tanh(self.enc(x)))


def get_model():
    return ClipEncoder().eval()


def get_inputs():
    return (torch.randn(5, 6),)


def get_other_inputs():
    return (torch.randn(5, 6) + 3,)
