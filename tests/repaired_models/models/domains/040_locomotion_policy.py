"""Stochastic locomotion policy: squashed Gaussian actions and their log probability."""
import torch
import torch.nn as nn
from torch.distributions import Normal, TransformedDistribution
from torch.distributions.transforms import AffineTransform, TanhTransform


class Trunk(nn.Module):
    def __init__(self, obs, hidden):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(obs, hidden), nn.LayerNorm(hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.ELU()
        )

    def forward(self, obs):
        return self.net(obs)


class LocomotionPolicy(nn.Module):
    def __init__(self, obs=20, act=6, hidden=48, scale=1.5):
        super().__init__()
        self.trunk = Trunk(obs, hidden)
        self.mu = nn.Linear(hidden, act)
        self.log_std = nn.Linear(hidden, act)
        self.scale = scale

    def dist(self, obs):
        h = self.trunk(obs)
        std = self.log_std(h).clamp(-5, 2).exp()
        base = Normal(self.mu(h), std)  # EXPECT: distribution-argument-validation
        return TransformedDistribution(base, [TanhTransform(), AffineTransform(0.0, self.scale)])

    def forward(self, obs, reference):
        pi = self.dist(obs)
        action = pi.rsample()
        return action, pi.log_prob(reference).sum(-1)  # EXPECT: distribution-argument-validation


def get_model():
    return LocomotionPolicy().eval()


def get_inputs():
    return torch.randn(4, 20), 1.4 * (2 * torch.rand(4, 6) - 1)
