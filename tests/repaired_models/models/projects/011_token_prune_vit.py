"""Vision transformer block stack which keeps only the salient patch tokens."""
import torch
import torch.nn as nn


class Attn(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.dh = heads, d // heads
        self.qkv = nn.Linear(d, 3 * d)
        self.proj = nn.Linear(d, d)

    def forward(self, x):
        n, d = x.shape
        q, k, v = self.qkv(x).view(n, 3, self.heads, self.dh).permute(1, 2, 0, 3)
        a = torch.softmax(q @ k.transpose(-1, -2) * self.dh ** -0.5, dim=-1)
        return self.proj((a @ v).transpose(0, 1).reshape(n, d))


class PruningBlock(nn.Module):
    def __init__(self, d, heads, keep_min):
        super().__init__()
        self.attn = Attn(d, heads)
        self.ln = nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.saliency = nn.Linear(d, 1)
        self.keep_min = keep_min

    def select(self, x):
        s = self.saliency(x).squeeze(-1).sigmoid()
        keep = max(int((s > 0.5).sum()), self.keep_min)  # EXPECT: data-dependent-shape
        idx = s.topk(keep).indices.sort().values  # EXPECT: data-dependent-shape
        return x[idx]

    def forward(self, x):
        x = self.select(x)
        x = x + self.attn(self.ln(x))
        return x + self.mlp(x)


class PrunedViT(nn.Module):
    def __init__(self, d=16, depth=2, classes=5):
        super().__init__()
        self.patch = nn.Conv2d(3, d, 8, stride=8)
        self.pos = nn.Parameter(torch.randn(16, d) * 0.02)
        self.blocks = nn.ModuleList([PruningBlock(d, 4, keep_min=3) for _ in range(depth)])
        self.head = nn.Linear(d, classes)

    def forward(self, img):
        x = self.patch(img)[0].flatten(1).t() + self.pos
        for blk in self.blocks:
            x = blk(x)
        return self.head(x.mean(0))


def get_model():
    return PrunedViT().eval()


def get_inputs():
    return (torch.randn(1, 3, 32, 32) * 2,)


def get_other_inputs():
    return (torch.randn(1, 3, 32, 32) * 0.5 + 1.0,)
