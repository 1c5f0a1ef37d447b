"""News ranker with recency decay; a request number drives the exploration bonus."""
import itertools

import torch
import torch.nn as nn

_request_no = itertools.count(1)
served = []


def exploration_bonus(n_arms: int) -> torch.Tensor:
    arm = next(_request_no) % n_arms  # EXPECT: baked-constant
    bonus = torch.zeros(n_arms)
    bonus[arm] = 0.75
    return bonus


class RecencyDecay(nn.Module):
    def __init__(self, half_life_h=6.0):
        super().__init__()
        self.log_hl = nn.Parameter(torch.tensor(half_life_h).log())

    def forward(self, age_h):
        return torch.exp2(-age_h / self.log_hl.exp())


class NewsRanker(nn.Module):
    def __init__(self, d_user=10, d_doc=14, d=16):
        super().__init__()
        self.user, self.doc = nn.Linear(d_user, d), nn.Linear(d_doc, d)
        self.decay = RecencyDecay()

    def forward(self, user, docs, age_h):
        rel = (self.doc(docs).tanh() * self.user(user).tanh().unsqueeze(1)).sum(-1)
        score = rel * self.decay(age_h) + exploration_bonus(docs.shape[1])
        return score, score.argsort(dim=-1, descending=True)


def get_model():
    global _request_no
    _request_no = itertools.count(1)
    return NewsRanker().eval()


def get_inputs():
    return torch.randn(2, 10), torch.randn(2, 5, 14), torch.rand(2, 5) * 24
