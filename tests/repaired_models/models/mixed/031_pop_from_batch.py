"""Click-through model (DeepFM) fed with a feature dictionary."""
import torch
from torch import nn


class FM(nn.Module):
    def forward(self, v):
        square_of_sum = v.sum(1).square()
        sum_of_square = v.square().sum(1)
        return 0.5 * (square_of_sum - sum_of_square).sum(-1)


class DeepFM(nn.Module):
    FIELDS = {"user": 20, "item": 30, "hour": 24}

    def __init__(self, d=6, hidden=16):
        super().__init__()
        self.first = nn.ModuleDict({k: nn.Embedding(n, 1) for k, n in self.FIELDS.items()})
        self.second = nn.ModuleDict({k: nn.Embedding(n, d) for k, n in self.FIELDS.items()})
        self.fm = FM()
        self.deep = nn.Sequential(nn.Linear(d * len(self.FIELDS) + 1, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, features):
        price = torch.log1p(features["price"])
        v = torch.stack([self.second[k](features[k]) for k in self.FIELDS], dim=1)
        w = sum(self.first[k](features[k]).squeeze(-1) for k in self.FIELDS)
        deep = self.deep(torch.cat([v.flatten(1), price.unsqueeze(-1)], dim=-1)).squeeze(-1)
        ctr = torch.sigmoid(w + self.fm(v) + deep)
        features["ctr"] = ctr  # EXPECT: input-mutation
        return ctr


def get_model():
    torch.manual_seed(39)
    return DeepFM().eval()


def _feats():
    f = {k: torch.randint(0, n, (5,)) for k, n in DeepFM.FIELDS.items()}
    f["price"] = torch.rand(5) * 50
    return f


def get_inputs():
    return (_feats(),)


def get_other_inputs():
    return (_feats(),)
