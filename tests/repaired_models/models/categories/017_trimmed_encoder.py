"""Sentence encoder that trims the batch to its longest sentence."""
import torch
from torch import nn


class SentenceEncoder(nn.Module):
    def __init__(self, vocab=30, dim=8, max_len=12):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(max_len, dim) * 0.02)
        self.att = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.out = nn.Linear(dim, 3)

    def forward(self, ids, lengths):
        longest = int(lengths.max())  # EXPECT: data-dependent-shape
        ids = ids[:, :longest]  # EXPECT: data-dependent-shape
        x = self.tok(ids) + self.pos[:longest]
        pad = torch.arange(longest)[None, :] >= lengths[:, None]
        y, _ = self.att(x, x, x, key_padding_mask=pad, need_weights=False)
        y = y.masked_fill(pad[..., None], 0.0)
        return self.out(y.sum(1) / lengths[:, None])


def get_model():
    return SentenceEncoder().eval()


def get_inputs():
    return torch.randint(0, 30, (3, 12)), torch.randint(2, 7, (3,))


def get_other_inputs():
    return torch.randint(0, 30, (3, 12)), torch.randint(8, 13, (3,))
