"""MViT, a video transformer, classifying videos of any batch: attention whose keys and queries are pooled in space and
time, written after the paper's description.

Two blocks of width 16 and 32, the second one with half as many places, videos of 4 pictures of 32 x 32, 10 classes.
The batch is declared dynamic, and the sample's is 2: with a batch of 1 torch would make it static.
"""

import torch
from torch import nn


class PooledAttention(nn.Module):
    """Places as (batch, time x height x width, width of a vector); queries may be fewer than the places."""

    def __init__(self, width, heads, query_stride):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        each = width // heads
        self.query = nn.Conv3d(each, each, 3, (1, query_stride, query_stride), 1, groups=each)
        self.key = nn.Conv3d(each, each, 3, (1, 2, 2), 1, groups=each)
        self.value = nn.Conv3d(each, each, 3, (1, 2, 2), 1, groups=each)
        self.after = nn.Linear(width, width)

    def pooled(self, x, pool, size):
        batch, heads, _, each = x.shape
        x = pool(x.transpose(2, 3).reshape(batch * heads, each, *size))
        return x.flatten(2).transpose(1, 2).reshape(batch, heads, -1, each), x.shape[2:]

    def forward(self, x, size):
        batch, places, width = x.shape
        parts = self.qkv(x).reshape(batch, places, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        (query, smaller), (key, _), (value, _) = (
            self.pooled(part, pool, size) for part, pool in zip(parts, (self.query, self.key, self.value), strict=True)
        )
        found = nn.functional.scaled_dot_product_attention(query, key, value) + query
        return self.after(found.transpose(1, 2).reshape(batch, -1, width)), smaller


class Block(nn.Module):
    def __init__(self, width, after, heads, query_stride):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = PooledAttention(width, heads, query_stride)
        self.shortcut = nn.MaxPool3d((1, query_stride, query_stride)) if query_stride > 1 else nn.Identity()
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, after))
        self.widen = nn.Linear(width, after) if width != after else nn.Identity()

    def forward(self, x, size):
        batch, _, width = x.shape
        found, smaller = self.attention(self.first(x), size)
        kept = self.shortcut(x.transpose(1, 2).reshape(batch, width, *size)).flatten(2).transpose(1, 2)
        x = self.second(kept + found)
        return self.widen(x) + self.mlp(x), smaller


class MViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv3d(3, 16, (3, 7, 7), (2, 4, 4), (1, 3, 3))
        self.position = nn.Parameter(torch.randn(1, 2 * 8 * 8, 16) * 0.02)
        self.blocks = nn.ModuleList([Block(16, 32, 1, 1), Block(32, 32, 2, 2)])
        self.head = nn.Linear(32, 10)

    def forward(self, video):
        x = self.patches(video)
        size, x = x.shape[2:], x.flatten(2).transpose(1, 2) + self.position
        for block in self.blocks:
            x, size = block(x, size)
        return self.head(x.mean(1))


torch.manual_seed(0)
model = MViT().eval()
example_args = (torch.randn(2, 3, 4, 32, 32),)
dynamic_shapes = ({0: torch.export.Dim("batch", min=1, max=16)},)
