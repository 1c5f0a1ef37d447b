"""Line recogniser: ViT over page strips of variable width, CTC logits out."""
import torch
import torch.nn as nn
from torch.export import Dim


class PatchEmbed(nn.Module):
    def __init__(self, height, patch, dim):
        super().__init__()
        self.proj = nn.Conv2d(1, dim, (height, patch), stride=(height, patch))

    def forward(self, strip):
        return self.proj(strip).squeeze(2).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        y = self.n1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.n2(x))


class LineOCR(nn.Module):
    def __init__(self, height=16, patch=8, dim=32, max_width=128, charset=40):
        super().__init__()
        self.embed = PatchEmbed(height, patch, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, max_width // patch, dim))
        self.blocks = nn.ModuleList([Block(dim) for _ in range(2)])
        self.ctc = nn.Linear(dim, charset)

    def forward(self, strip):
        x = self.embed(strip)
        x = x + self.pos  # EXPECT: dynamic-shape-specialised
        for blk in self.blocks:
            x = blk(x)
        return self.ctc(x).log_softmax(-1)


def get_model():
    return LineOCR().eval()


def get_inputs():
    return (torch.randn(2, 1, 16, 128),)


def get_dynamic_shapes():
    return ({0: Dim("batch", min=1, max=64), 3: Dim("width", min=64, max=1024)},)  # EXPECT: dynamic-shape-specialised
