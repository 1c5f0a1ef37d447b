"""Token pruning in a small vision transformer; the budget is predicted from the image."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn = nn.MultiheadAttention(d, heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        y = self.ln1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.ff(self.ln2(x))


class PrunedPooling(nn.Module):
    def __init__(self, d, n_tokens):
        super().__init__()
        self.score = nn.Linear(d, 1)
        self.budget = nn.Linear(d, 1)
        self.n_tokens = n_tokens

    def forward(self, x):
        s = self.score(x).squeeze(-1)
        frac = torch.sigmoid(8 * self.budget(x.mean(1))).mean()
        k = max(1, round(float(frac * self.n_tokens)))  # EXPECT: data-dependent-shape
        top, idx = s.topk(k, dim=1)
        picked = x.gather(1, idx.unsqueeze(-1).expand(-1, -1, x.size(-1)))
        return (picked * top.softmax(1).unsqueeze(-1)).sum(1)


class PruneViT(nn.Module):
    def __init__(self, d=16, patches=16):
        super().__init__()
        self.proj = nn.Conv2d(3, d, 4, stride=4)
        self.pos = nn.Parameter(torch.randn(1, patches, d) * 0.02)
        self.block = Block(d, 4)
        self.pool = PrunedPooling(d, patches)
        self.fc = nn.Linear(d, 7)

    def forward(self, img):
        x = self.proj(img).flatten(2).transpose(1, 2) + self.pos
        return self.fc(self.pool(self.block(x)))


def get_model():
    torch.manual_seed(10)
    return PruneViT().eval()


def get_inputs():
    return (torch.randn(2, 3, 16, 16),)


def get_other_inputs():
    return (torch.randn(2, 3, 16, 16) * 10,)
