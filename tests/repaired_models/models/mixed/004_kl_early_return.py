"""Gaussian actor: a trust-region style correction of the proposed action mean."""
import torch
from torch import nn


def mlp(sizes, act=nn.Tanh):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(act())
    return nn.Sequential(*layers)


class TrustRegionActor(nn.Module):
    def __init__(self, obs_dim, act_dim, hidden=(32, 32), delta=0.35):
        super().__init__()
        self.new = mlp([obs_dim, *hidden, act_dim])
        self.old = mlp([obs_dim, *hidden, act_dim])
        self.log_std = nn.Parameter(torch.full((act_dim,), -0.5))
        self.delta = delta

    def _kl(self, mu, mu_old):
        var = (2 * self.log_std).exp()
        return (((mu - mu_old) ** 2) / (2 * var)).sum(-1).mean()

    def _project(self, mu, mu_old):
        kl = self._kl(mu, mu_old)
        if kl <= self.delta:  # EXPECT: data-dependent-branch
            return mu
        shrink = torch.sqrt(self.delta / kl)
        return mu_old + shrink * (mu - mu_old)

    def forward(self, obs):
        mu = self._project(self.new(obs), self.old(obs))
        return torch.tanh(mu), self.log_std.exp().expand_as(mu)


def get_model():
    torch.manual_seed(5)
    return TrustRegionActor(obs_dim=10, act_dim=3).eval()


def get_inputs():
    return (torch.randn(16, 10) * 0.02,)


def get_other_inputs():
    return (torch.randn(16, 10) * 6.0,)
