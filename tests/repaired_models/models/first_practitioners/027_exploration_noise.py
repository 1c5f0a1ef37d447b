"""Continuous-control actor whose exploration bonus fades with every decision."""
import torch
from torch import nn


def make_decay(start, rate):
    value = start

    def step():
        nonlocal value
        now = value
        value = value * rate  # EXPECT: closure-state
        return now

    return step


class Actor(nn.Module):
    def __init__(self, obs=8, act=3):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, act))
        self.bonus = nn.Sequential(nn.Linear(obs, 16), nn.ReLU(), nn.Linear(16, act))
        self.epsilon = make_decay(1.0, 0.7)

    def forward(self, obs):
        base = self.mu(obs)
        return torch.tanh(base + self.epsilon() * self.bonus(obs))


def get_model():
    return Actor().eval()


def get_inputs():
    return (torch.randn(4, 8),)


def get_other_inputs():
    return (torch.randn(4, 8) + 1,)
