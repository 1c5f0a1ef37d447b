"""Long-document language model: each layer attends to the previous segment, memories kept by the caller."""
import torch
from torch import nn


class MemoryLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, mem):
        ctx = torch.cat([mem, x], 1)
        return self.norm(x + self.attn(x, ctx, ctx, need_weights=False)[0])


class SegmentLM(nn.Module):
    def __init__(self, vocab=30, dim=16, depth=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(MemoryLayer(dim, 2) for _ in range(depth))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids, mems):
        x = self.tok(ids)
        for k, layer in enumerate(self.layers):
            prev, mems[k] = mems[k], x.detach()  # EXPECT: replaced-entry-of-callers-list
            x = layer(x, prev)
        return self.head(x)


def get_model():
    return SegmentLM().eval()


def get_inputs():
    return torch.randint(0, 30, (2, 5)), [torch.zeros(2, 5, 16), torch.zeros(2, 5, 16)]


def get_other_inputs():
    return torch.randint(0, 30, (2, 5)), [torch.randn(2, 5, 16), torch.randn(2, 5, 16)]
