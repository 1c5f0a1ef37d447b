"""Click-through model that shrinks its estimate by the number of impressions served so far."""
import torch
from torch import nn


class ImpressionLog:
    served = 0
    prior = 8.0

    @classmethod
    def record(cls, n):
        cls.served += n  # EXPECT: class-attribute-counter

    @classmethod
    def confidence(cls):
        return cls.served / (cls.served + cls.prior)


class ClickModel(nn.Module):
    def __init__(self, n_items=25, n_users=15, k=6):
        super().__init__()
        self.items = nn.Embedding(n_items, k)
        self.users = nn.Embedding(n_users, k)
        self.base_rate = nn.Parameter(torch.tensor(0.05))

    def forward(self, user, item):
        dot = (self.users(user) * self.items(item)).sum(-1)
        ImpressionLog.record(len(user))
        w = ImpressionLog.confidence()
        return w * torch.sigmoid(dot) + (1 - w) * self.base_rate


def get_model():
    return ClickModel().eval()


def get_inputs():
    return torch.randint(0, 15, (6,)), torch.randint(0, 25, (6,))
