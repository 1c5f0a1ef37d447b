"""Two-tower recommender in which a short list of new items is scored from content alone."""
import torch
from torch import nn


class ItemTower(nn.Module):
    def __init__(self, n_items, dim, cold):
        super().__init__()
        self.id_emb = nn.Embedding(n_items, dim)
        self.content = nn.Linear(5, dim)
        self.cold = frozenset(cold)

    def forward(self, ids, attrs):
        warm = self.id_emb(ids) + self.content(attrs)
        is_cold = torch.tensor([int(i) in self.cold for i in ids])  # EXPECT: set-membership-of-elements
        return torch.where(is_cold[:, None], self.content(attrs), warm)


class TwoTower(nn.Module):
    def __init__(self, users=30, items=40, dim=16):
        super().__init__()
        self.user = nn.EmbeddingBag(items, dim, mode="mean")
        self.item = ItemTower(items, dim, cold=range(30, 40))
        self.temp = nn.Parameter(torch.tensor(0.1))

    def forward(self, history, ids, attrs):
        u = nn.functional.normalize(self.user(history), dim=-1)
        v = nn.functional.normalize(self.item(ids, attrs), dim=-1)
        return (u @ v.T) / self.temp


def get_model():
    return TwoTower().eval()


def get_inputs():
    return torch.randint(0, 40, (3, 6)), torch.randint(0, 40, (12,)), torch.randn(12, 5)


def get_other_inputs():
    return torch.randint(0, 40, (3, 6)), torch.randint(28, 34, (12,)), torch.randn(12, 5)
