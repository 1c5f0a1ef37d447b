"""Models that several targets are tried on; the line that a finding stands at is its own."""

from __future__ import annotations

import torch
from torch import nn


class Structures(nn.Module):
    """Keyword arguments, indexes, a mask, a scalar; an unused input, an input that is returned, and None."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(10, 4)

    def forward(self, index, unused, *, mask, scale):
        y = self.embedding(index).masked_fill(mask, -1.0)
        return {"y": y * scale, "none": None, "rest": [y.argmax(-1), ~mask, (y.sum(), scale)]}


def structures():
    index = torch.randint(0, 10, (2, 3))
    mask = torch.rand(2, 3, 4) > 0.5
    return Structures(), (index, torch.zeros(5)), {"scale": torch.tensor(2.0), "mask": mask}


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.head = nn.Sequential(nn.Conv1d(8, 4, 3, padding=1), nn.BatchNorm1d(4), nn.GELU())

    def forward(self, x):
        return self.head(self.layer(x).transpose(1, 2))


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.tensor(7.0))

    def forward(self, x):
        self.count.add_(1)
        return x * self.count


class Cache(nn.Module):
    """Each call of the same position is right without state, and the next position is not."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kept", torch.zeros(4, 2))

    def forward(self, x, first):
        rows = torch.arange(4)[:, None]
        self.kept.copy_(torch.where(rows == first, x, self.kept))
        return self.kept.sum(0)


class InTraining(nn.Module):
    """Running statistics are written and never read."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        self.norm.train()
        return self.norm(x)


class WritesInput(nn.Module):
    def forward(self, x, y):
        y.mul_(2)
        return x - 1


class ReturnsNumber(nn.Module):
    def forward(self, x):
        y = x + 1
        return y, 3


class TakesNumber(nn.Module):
    def forward(self, x, factor):
        return x * factor


class Complex(nn.Module):
    def forward(self, x):
        return x * (1 + 2j)


class Picks(nn.Module):
    def forward(self, x):
        return x[x > 0]
