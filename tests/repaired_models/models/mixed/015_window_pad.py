"""Windowed attention for genomic signals: pad to whole windows, attend inside, cut back."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import Dim


class WindowAttention(nn.Module):
    def __init__(self, d, window):
        super().__init__()
        self.window = window
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        if n % self.window != 0:  # EXPECT: dynamic-shape-specialised
            x = F.pad(x, (0, 0, 0, self.window - n % self.window))
        w = x.reshape(b, -1, self.window, d)
        q, k, v = self.qkv(w).chunk(3, dim=-1)
        out = F.scaled_dot_product_attention(q, k, v)
        return self.proj(out.reshape(b, -1, d)[:, :n])


class PeakCaller(nn.Module):
    def __init__(self, d=16, window=8):
        super().__init__()
        self.onehot = nn.Conv1d(4, d, 5, padding=2)
        self.attn = WindowAttention(d, window)
        self.norm = nn.LayerNorm(d)
        self.peak = nn.Linear(d, 1)

    def forward(self, dna):
        x = self.onehot(dna).transpose(1, 2)
        x = self.norm(x + self.attn(x))
        return torch.sigmoid(self.peak(x)).squeeze(-1)


def get_model():
    torch.manual_seed(19)
    return PeakCaller().eval()


def get_inputs():
    return (torch.randn(2, 4, 30),)


def get_other_inputs():
    return (torch.randn(2, 4, 40),)


def get_dynamic_shapes():
    return {"dna": {2: Dim("bases", min=9, max=400)}}
