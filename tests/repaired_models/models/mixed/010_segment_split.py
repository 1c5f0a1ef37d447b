"""Session recommender: sessions are packed in one flat sequence, sizes given on the side."""
import torch
from torch import nn


class AttentivePool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.query = nn.Parameter(torch.randn(d))

    def forward(self, items):
        w = torch.softmax(items @ self.query, dim=0)
        return w @ items


class SessionRec(nn.Module):
    def __init__(self, catalog=40, d=12):
        super().__init__()
        self.items = nn.Embedding(catalog, d)
        self.pool = AttentivePool(d)
        self.transform = nn.Sequential(nn.Linear(d, d), nn.Tanh())

    def session_vectors(self, emb, sizes):
        vectors, start = [], 0
        for n in sizes:
            stop = start + int(n)  # EXPECT: data-dependent-shape
            vectors.append(self.pool(emb[start:stop]))
            start = stop
        return torch.stack(vectors)

    def forward(self, flat_ids, sizes):
        emb = self.items(flat_ids)
        vec = self.transform(self.session_vectors(emb, sizes))
        return vec @ self.items.weight.T


def get_model():
    torch.manual_seed(12)
    return SessionRec().eval()


def get_inputs():
    return torch.randint(0, 40, (12,)), torch.tensor([3, 5, 4])


def get_other_inputs():
    return torch.randint(0, 40, (12,)), torch.tensor([6, 2, 4])
