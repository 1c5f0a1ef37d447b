import bisect

import torch
from torch import nn

PRICE_EDGES = [5.0, 20.0, 75.0, 250.0]


class PriceAwareRanker(nn.Module):
    """Two tower ranker with a tower bias per price bucket of the basket."""

    def __init__(self, n_users=50, n_items=80, d=12):
        super().__init__()
        self.user = nn.Embedding(n_users, d)
        self.item = nn.Embedding(n_items, d)
        self.bucket_bias = nn.Embedding(len(PRICE_EDGES) + 1, d)
        self.mlp = nn.Sequential(nn.Linear(3 * d, d), nn.GELU(), nn.Linear(d, 1))

    def forward(self, user_id, candidates, prices):
        bucket = bisect.bisect_right(PRICE_EDGES, prices.mean().item())
        u = self.user(user_id).expand(candidates.shape[0], -1)
        i = self.item(candidates)
        b = self.bucket_bias(torch.tensor(bucket)).expand_as(i)
        s = self.mlp(torch.cat([u, i, b], dim=-1)).squeeze(-1)
        order = s.argsort(descending=True)
        return candidates[order], s[order]


def get_model():
    return PriceAwareRanker().eval()


def get_inputs():
    return (torch.tensor([3]), torch.arange(10, 20), torch.rand(10) * 10)


def get_other_inputs():
    return (torch.tensor([7]), torch.arange(30, 40), torch.rand(10) * 400)
