"""Session-aware retrieval: the query embedding is shifted by the previous queries of the session."""
import torch
import torch.nn.functional as F
from torch import nn


def expand_query(q, weight=0.3, limit=2, history=[]):
    context = sum(history) / len(history) if history else torch.zeros_like(q)
    history.append(q.detach())  # EXPECT: mutable-default-argument
    if len(history) > limit:
        history.pop(0)  # EXPECT: mutable-default-argument
    return q + weight * context


class SessionRetriever(nn.Module):
    def __init__(self, dim=8, n_docs=20):
        super().__init__()
        self.encoder = nn.EmbeddingBag(50, dim, mode="mean")
        self.docs = nn.Parameter(torch.randn(n_docs, dim))

    def forward(self, words):
        q = expand_query(self.encoder(words))
        scores = F.normalize(q, dim=-1) @ F.normalize(self.docs, dim=-1).T
        return scores.topk(4, dim=-1).values


def get_model():
    return SessionRetriever().eval()


def get_inputs():
    return (torch.randint(0, 50, (3, 6)),)
