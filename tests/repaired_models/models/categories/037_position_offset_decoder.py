"""Decoder step with a start position for the rotary angles."""
import torch
import torch.nn as nn


def rotate(x, start, base=100.0):
    t, d = x.shape[-2:]
    inv = base ** (-torch.arange(0, d, 2) / d)
    ang = (torch.arange(t) + start)[:, None] * inv
    c, s = ang.cos(), ang.sin()
    a, b = x[..., ::2], x[..., 1::2]
    return torch.cat([a * c - b * s, a * s + b * c], -1)


class DecoderStep(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3))

    def forward(self, x, memory, start):  # EXPECT: python-scalar-input
        q = rotate(self.q(x), start)  # EXPECT: python-scalar-input
        k = rotate(self.k(memory), 0)
        w = (q @ k.transpose(-1, -2) / 8**0.5).softmax(-1)
        return x + w @ self.v(memory)


def get_model():
    return DecoderStep().eval()


def get_inputs():
    return torch.randn(1, 2, 8), torch.randn(1, 6, 8), 3


def get_other_inputs():
    return torch.randn(1, 2, 8), torch.randn(1, 6, 8), 9
