"""Two-tower slate ranker with availability filter and a popularity prior."""
import torch
import torch.nn as nn


class Tower(nn.Sequential):
    def __init__(self, n_in, n_out):
        super().__init__(nn.Linear(n_in, 48), nn.GELU(), nn.Linear(48, n_out))


class SlateRanker(nn.Module):
    NEG = -1e4

    def __init__(self, n_items=50, dim=16):
        super().__init__()
        self.user_tower = Tower(12, dim)
        self.item_emb = nn.Embedding(n_items, dim)
        self.prior = nn.Parameter(torch.randn(n_items) * 0.1)

    def _eligible(self, stock, item_ids):
        return stock.gt(0) & item_ids.ne(0)

    def _score(self, user, item_ids):
        u = self.user_tower(user)
        v = self.item_emb(item_ids)
        return torch.einsum("bd,bnd->bn", u, v) / v.shape[-1] ** 0.5

    def forward(self, user, item_ids, stock):
        scores = self._score(user, item_ids)
        prior = self.prior[item_ids]
        eligible = self._eligible(stock, item_ids)
        # a user for whom nothing is on stock gets the prior-only slate for the whole request
        if (n_min := eligible.sum(dim=1).min()) == 0 or any(row.sum() < 2 for row in eligible):  # EXPECT: data-dependent-branch
            scores = prior.expand_as(scores)
        else:
            scores = (scores + 0.5 * prior).masked_fill(~eligible, self.NEG)
        order = scores.argsort(dim=1, descending=True)
        return scores, item_ids.gather(1, order), n_min


def get_model():
    return SlateRanker().eval()


def get_inputs():
    return torch.randn(3, 12), torch.randint(1, 50, (3, 8)), torch.randint(1, 9, (3, 8))


def get_other_inputs():
    stock = torch.randint(1, 9, (3, 8))
    stock[1] = 0
    return torch.randn(3, 12), torch.randint(1, 50, (3, 8)), stock
