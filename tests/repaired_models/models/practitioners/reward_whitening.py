"""PPO value network with running whitening of the observed rewards."""
import torch
from torch import nn


class RewardWhitener(nn.Module):
    def __init__(self, obs=6, warmup=3):
        super().__init__()
        self.v = nn.Sequential(nn.Linear(obs + 1, 16), nn.Tanh(), nn.Linear(16, 1))
        self.warmup = warmup
        self.n_calls = 0

    def forward(self, obs, reward):
        self.n_calls += 1
        blend = min(self.n_calls / self.warmup, 1.0)
        centred = reward - blend * reward.mean()
        scaled = centred / (reward.std() * blend + (1.0 - blend) + 1e-6)
        return self.v(torch.cat([obs, scaled.unsqueeze(-1)], dim=-1)), scaled


def get_model():
    return RewardWhitener().eval()


def get_inputs():
    return (torch.randn(5, 6), torch.randn(5) * 3 + 1)


def get_other_inputs():
    return (torch.randn(5, 6), torch.randn(5) * 0.2 - 4)
