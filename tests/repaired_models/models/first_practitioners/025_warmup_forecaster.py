"""Demand forecaster that trusts its seasonal prior more during the first calls after deployment."""
import torch
from torch import nn


class DemandForecaster(nn.Module):
    warmup = 5

    def __init__(self, window=28, horizon=7, season=7):
        super().__init__()
        self.season = season
        self.net = nn.Sequential(nn.Linear(window, 32), nn.ReLU(), nn.Linear(32, horizon))
        self.calls = 0

    @property
    def trust(self):
        return min(1.0, self.calls / self.warmup)

    def seasonal(self, y):
        return y[:, -self.season :]

    def forward(self, y):
        self.calls += 1  # EXPECT: call-counter
        level = y.mean(1, keepdim=True)
        learned = self.net(y - level) + level
        return self.trust * learned + (1 - self.trust) * self.seasonal(y)


def get_model():
    return DemandForecaster().eval()


def get_inputs():
    return (torch.rand(3, 28) * 5,)


def get_other_inputs():
    return (torch.rand(3, 28) + 4,)
