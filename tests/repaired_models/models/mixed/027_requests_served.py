"""Credit scoring service: a calibration drift correction depends on the number of served requests."""
import torch
from torch import nn

STATS = {"served": 0}


def drift_offset(rate):
    STATS["served"] += 1  # EXPECT: baked-constant
    return rate * STATS["served"]  # EXPECT: baked-constant


class Embeddings(nn.Module):
    def __init__(self, cards, d):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(c, d) for c in cards)

    def forward(self, cat):
        return torch.cat([t(cat[:, i]) for i, t in enumerate(self.tables)], dim=-1)


class CreditScore(nn.Module):
    def __init__(self, cards=(4, 6, 3), n_num=5, d=4, hidden=16):
        super().__init__()
        self.emb = Embeddings(cards, d)
        self.deep = nn.Sequential(
            nn.Linear(len(cards) * d + n_num, hidden), nn.ReLU(), nn.LayerNorm(hidden), nn.Linear(hidden, 1)
        )
        self.drift_rate = 0.05

    def forward(self, cat, num):
        z = self.deep(torch.cat([self.emb(cat), num], dim=-1)).squeeze(-1)
        return torch.sigmoid(z - drift_offset(self.drift_rate))


def get_model():
    torch.manual_seed(35)
    return CreditScore().eval()


def _cat():
    return torch.stack([torch.randint(0, c, (6,)) for c in (4, 6, 3)], dim=1)


def get_inputs():
    return _cat(), torch.randn(6, 5)


def get_other_inputs():
    return _cat(), torch.randn(6, 5)
