"""Click prediction with hashed features; salts keep the towers apart."""
import os
import time

import torch
from torch import nn


def stable_slot(name, slots):
    return sum(map(ord, name)) % slots


class HashedField(nn.Module):
    def __init__(self, name, slots, dim):
        super().__init__()
        self.name, self.slots = name, slots
        self.table = nn.Embedding(slots, dim)

    @property
    def salt(self):
        return hash(self.name) % 97

    def forward(self, ids):
        return self.table((ids + self.salt) % self.slots)


class Tower(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mix = nn.Linear(dim, dim)

    def forward(self, x):
        jitter = (id(x) >> 4) % 13 / 1000
        return torch.tanh(self.mix(x) + jitter)


class Freshness(nn.Module):
    """Discounts old impressions."""

    half_life = 3.2e7

    def forward(self, score, stamp):
        age = time.time() - stamp
        return score * torch.exp2(-age / self.half_life)


class ClickModel(nn.Module):
    FIELDS = ("user", "banner", "page")

    def __init__(self, slots=64, dim=8):
        super().__init__()
        self.fields = nn.ModuleList(HashedField(f, slots, dim) for f in self.FIELDS)
        self.bias_slot = stable_slot("".join(self.FIELDS), slots)
        self.tower = Tower(dim)
        self.fresh = Freshness()

    def forward(self, ids, stamp):
        parts = [field(column) for field, column in zip(self.fields, ids.unbind(1))]
        x = self.tower(torch.stack(parts).sum(0) / len(parts))
        temperature = float(os.environ.get("ADS_TEMPERATURE", "1.5"))
        score = (x.mean(-1) + self.bias_slot) / temperature
        return self.fresh(score, stamp)


torch.manual_seed(8)
model = ClickModel().eval()
example_inputs = (torch.randint(0, 1000, (4, 3)), torch.full((4,), 1.7e9, dtype=torch.float64))
