"""Hierarchical agent: a manager picks an option for the current state, the option's skill acts."""
from enum import Enum
import torch
from torch import nn


class Option(Enum):
    GRASP = 0
    MOVE = 1
    WAIT = 2


class HierarchicalPolicy(nn.Module):
    def __init__(self, obs=9, act=4):
        super().__init__()
        self.manager = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, len(Option)))
        self.grasp = nn.Linear(obs, act)
        self.move = nn.Sequential(nn.Linear(obs, 16), nn.ReLU(), nn.Linear(16, act))

    def choose(self, obs):
        return Option(self.manager(obs).argmax().item())  # EXPECT: enum-from-item

    def forward(self, obs):
        match self.choose(obs):
            case Option.GRASP:
                a = torch.tanh(self.grasp(obs))
            case Option.MOVE:
                a = torch.tanh(self.move(obs)) * 0.5
            case Option.WAIT:
                a = torch.zeros(4)
        return a


def get_model():
    return HierarchicalPolicy().eval()


def get_inputs():
    return (torch.randn(9) * 3 - 1,)


def get_other_inputs():
    return (torch.randn(9) * 3 + 3,)
