"""Contextual bandit for news slots with decaying exploration shared by all policy instances."""
import torch
import torch.nn as nn


class ArmScorer(nn.Module):
    def __init__(self, ctx, n_arms, hidden=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(ctx, hidden), nn.Tanh())
        self.mean = nn.Linear(hidden, n_arms)
        self.log_var = nn.Linear(hidden, n_arms)

    def forward(self, ctx):
        h = self.trunk(ctx)
        return self.mean(h), self.log_var(h).clamp(-4, 2)


class BanditPolicy(nn.Module):
    epsilon = 0.5
    decay = 0.7
    floor = 0.02

    def __init__(self, ctx=8, n_arms=6):
        super().__init__()
        self.scorer = ArmScorer(ctx, n_arms)

    @classmethod
    def anneal(cls):
        cls.epsilon = max(cls.floor, cls.epsilon * cls.decay)  # EXPECT: class-attribute-state

    def forward(self, ctx, available):
        mean, log_var = self.scorer(ctx)
        ucb = mean + BanditPolicy.epsilon * (0.5 * log_var).exp()  # EXPECT: class-attribute-state
        ucb = ucb.masked_fill(~available, float("-inf"))
        greedy = ucb.softmax(-1)
        uniform = available / available.sum(-1, keepdim=True)
        probs = (1 - BanditPolicy.epsilon) * greedy + BanditPolicy.epsilon * uniform
        self.anneal()
        return probs


def get_model():
    return BanditPolicy().eval()


def get_inputs():
    avail = torch.rand(4, 6) > 0.3
    avail[:, 0] = True
    return torch.randn(4, 8), avail
