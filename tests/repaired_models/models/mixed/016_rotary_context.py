"""Decoder layer with rotary positions; sine/cosine tables are made up front."""
import torch
from torch import nn
from torch.export import Dim


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


class Rotary(nn.Module):
    def __init__(self, head_dim, seq_len, base=10000.0):
        super().__init__()
        inv = 1.0 / base ** (torch.arange(0, head_dim, 2).float() / head_dim)
        ang = torch.outer(torch.arange(seq_len).float(), inv)
        ang = torch.cat((ang, ang), dim=-1)
        self.register_buffer("cos", ang.cos())
        self.register_buffer("sin", ang.sin())

    def forward(self, x):
        n = x.size(-2)
        return x * self.cos[:n] + rotate_half(x) * self.sin[:n]


class DecoderLayer(nn.Module):
    def __init__(self, d=16, heads=2, context=12):
        super().__init__()
        self.context = context
        self.h = heads
        self.rope = Rotary(d // heads, context)
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.norm = nn.LayerNorm(d)

    def heads(self, t):
        return t.unflatten(-1, (self.h, -1)).transpose(1, 2)

    def forward(self, x):
        if x.size(1) > self.context:  # EXPECT: dynamic-shape-specialised
            x = x[:, -self.context:]
        y = self.norm(x)
        q, k, v = (self.heads(p(y)) for p in (self.q, self.k, self.v))
        att = nn.functional.scaled_dot_product_attention(self.rope(q), self.rope(k), v, is_causal=True)
        return x + self.o(att.transpose(1, 2).flatten(2))


def get_model():
    torch.manual_seed(20)
    return DecoderLayer().eval()


def get_inputs():
    return (torch.randn(2, 9, 16),)


def get_other_inputs():
    return (torch.randn(2, 20, 16),)


def get_dynamic_shapes():
    return {"x": {1: Dim("tokens", min=2, max=64)}}
