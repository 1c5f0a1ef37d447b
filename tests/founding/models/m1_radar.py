"""Precipitation nowcasting: a small multiscale transformer over radar clips (batch, channel, time, height, width)."""
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass(frozen=True)
class RadarConfig:
    dims: tuple = (24, 48)
    heads: int = 4
    clip: tuple = (4, 16, 16)
    patch: tuple = (2, 4, 4)
    levels: tuple = field(default=("drizzle", "rain", "storm"))

    @property
    def grid(self):
        return tuple(c // p for c, p in zip(self.clip, self.patch))


class PooledAttention(nn.Module):
    """Attention whose keys and values are averaged over space, the query keeps its resolution."""

    def __init__(self, dim, heads, grid):
        super().__init__()
        self.heads, self.grid = heads, grid
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def _coarser(self, tokens):
        lead, body = tokens[:, :1], tokens[:, 1:]
        volume = body.transpose(1, 2).unflatten(2, self.grid)
        pooled = nn.functional.avg_pool3d(volume, (1, 2, 2))
        return torch.cat([lead, pooled.flatten(2).transpose(1, 2)], dim=1)

    def _split(self, tokens):
        return tokens.unflatten(-1, (self.heads, -1)).movedim(2, 1)

    def forward(self, tokens):
        q, k, v = self.qkv(tokens).chunk(3, dim=-1)
        k, v = map(self._coarser, (k, v))
        mixed = nn.functional.scaled_dot_product_attention(*map(self._split, (q, k, v)))
        return self.out(mixed.movedim(1, 2).flatten(2))


class Stage(nn.Module):
    def __init__(self, dim, heads, grid, dim_out):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.attend = PooledAttention(dim, heads, grid)
        self.widen = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim_out), nn.GELU())

    def forward(self, tokens):
        return self.widen(tokens + self.attend(self.norm(tokens)))


class RadarNowcaster(nn.Module):
    def __init__(self, cfg=RadarConfig()):
        super().__init__()
        self.stem = nn.Conv3d(1, cfg.dims[0], cfg.patch, stride=cfg.patch)
        self.summary = nn.Parameter(torch.zeros(1, 1, cfg.dims[0]))
        count = torch.tensor(cfg.grid).prod().item()
        self.place = nn.Parameter(torch.randn(1, 1 + count, cfg.dims[0]) * 0.02)
        widths = (*cfg.dims, cfg.dims[-1])
        self.stages = nn.ModuleList(
            Stage(a, cfg.heads, cfg.grid, b) for a, b in zip(widths, widths[1:])
        )
        self.head = nn.Linear(widths[-1], len(cfg.levels))

    def forward(self, clip):
        cells = self.stem(clip).flatten(2).mT
        tokens = torch.cat([self.summary.expand(len(cells), -1, -1), cells], dim=1) + self.place
        for stage in self.stages:
            tokens = stage(tokens)
        return self.head(tokens[:, 0]).softmax(-1)


torch.manual_seed(0)
model = RadarNowcaster().eval()
example_inputs = (torch.rand(2, 1, 4, 16, 16),)
