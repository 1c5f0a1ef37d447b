"""Mixer over the tokens that a mask keeps, padded to the full length afterwards."""
import torch
from torch import nn
import torch.nn.functional as F


class TokenMixer(nn.Module):
    def __init__(self, d=6, t=10):
        super().__init__()
        self.t = t
        self.inner = nn.Sequential(nn.Linear(d, 12), nn.GELU(), nn.Linear(12, d))
        self.out = nn.Linear(t * d, 4)

    def forward(self, tokens, keep):
        kept = tokens[keep]
        n = int(keep.sum())  # EXPECT: data-dependent-shape
        kept = self.inner(kept) - kept.mean(0)
        full = F.pad(kept, (0, 0, 0, self.t - n))  # EXPECT: data-dependent-shape
        return self.out(full.reshape(1, -1))


def _mask(t, n):
    return torch.randperm(t) < n


def get_model():
    return TokenMixer().eval()


def get_inputs():
    return torch.randn(10, 6), _mask(10, 4)


def get_other_inputs():
    return torch.randn(10, 6), _mask(10, 8)
