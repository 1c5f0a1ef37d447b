"""One-token-at-a-time transformer decoder layer with a preallocated key/value cache."""
import math

import torch
from torch import nn


class CachedSelfAttention(nn.Module):
    MAX_LEN = 16

    def __init__(self, d_model=16, heads=2, batch=2):
        super().__init__()
        self.h, self.dk = heads, d_model // heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.proj = nn.Linear(d_model, d_model)
        shape = (batch, heads, self.MAX_LEN, self.dk)
        self.register_buffer("k_cache", torch.zeros(shape), persistent=False)
        self.register_buffer("v_cache", torch.zeros(shape), persistent=False)
        self.pos = 0

    def forward(self, x):
        b, one, d = x.shape
        q, k, v = self.qkv(x).view(b, one, 3, self.h, self.dk).permute(2, 0, 3, 1, 4)
        p = self.pos
        self.k_cache[:, :, p : p + 1] = k
        self.v_cache[:, :, p : p + 1] = v
        self.pos = p + 1  # EXPECT: python-int-cache-position
        keys = self.k_cache[:, :, : self.pos]
        values = self.v_cache[:, :, : self.pos]
        att = (q @ keys.transpose(-1, -2)) / math.sqrt(self.dk)
        y = att.softmax(-1) @ values
        return self.proj(y.transpose(1, 2).reshape(b, one, d))


class DecoderStep(nn.Module):
    def __init__(self, vocab=30, d_model=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, d_model)
        self.norm = nn.LayerNorm(d_model)
        self.attn = CachedSelfAttention(d_model)
        self.head = nn.Linear(d_model, vocab)

    def forward(self, token):
        x = self.emb(token).unsqueeze(1)
        x = x + self.attn(self.norm(x))
        return self.head(x).squeeze(1)


def get_model():
    with torch.no_grad():
        return DecoderStep().eval().requires_grad_(False)


def get_inputs():
    return (torch.randint(0, 30, (2,)),)
