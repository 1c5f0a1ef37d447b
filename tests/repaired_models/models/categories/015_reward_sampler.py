"""Policy head with the log probability of a given action."""
import torch
from torch import nn
from torch.distributions import Normal


class Policy(nn.Module):
    def __init__(self, obs=6, act=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 10), nn.Tanh())
        self.mu = nn.Linear(10, act)
        self.raw = nn.Linear(10, act)

    def forward(self, obs, action):
        h = self.body(obs)
        dist = Normal(self.mu(h), nn.functional.softplus(self.raw(h)) + 1e-3)  # EXPECT: data-dependent-branch
        return dist.log_prob(action).sum(-1), dist.entropy().sum(-1)  # EXPECT: data-dependent-branch


def get_model():
    return Policy().eval()


def get_inputs():
    return torch.randn(4, 6), torch.randn(4, 2)
