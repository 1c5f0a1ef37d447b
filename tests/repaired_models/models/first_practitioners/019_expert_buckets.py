"""Language model block whose feed-forward part is a switch mixture; idle experts are skipped."""
import torch
from torch import nn


class SwitchFFN(nn.Module):
    def __init__(self, dim=16, experts=4):
        super().__init__()
        self.router = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim)) for _ in range(experts)
        )

    def forward(self, x):
        flat = x.flatten(0, 1)
        gate, pick = self.router(flat).softmax(-1).max(-1)
        y = torch.zeros_like(flat)
        for e in pick.unique():  # EXPECT: loop-over-unique
            rows = pick == e
            y[rows] = self.experts[e](flat[rows])  # EXPECT: loop-over-unique
        return (y * gate[:, None]).view_as(x)


class Block(nn.Module):
    def __init__(self, dim=16, heads=2):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ffn = SwitchFFN(dim)

    def forward(self, x):
        h = self.n1(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        return x + self.ffn(self.n2(x))


def get_model():
    return Block().eval()


def get_inputs():
    return (torch.randn(2, 5, 16),)


def get_other_inputs():
    return (torch.randn(1, 1, 16).repeat(2, 5, 1),)
