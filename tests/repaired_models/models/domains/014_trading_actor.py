"""Actor for portfolio rebalancing that keeps a list of candidate allocations and ranks them with a critic."""
import torch
import torch.nn as nn


class Critic(nn.Module):
    def __init__(self, n_assets, obs):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(n_assets + obs, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, obs, weights):
        return self.q(torch.cat([obs, weights], -1)).mean()


class RebalancingActor(nn.Module):
    def __init__(self, n_assets=5, obs=12):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, n_assets))
        self.critic = Critic(n_assets, obs)
        self.n_assets = n_assets

    def candidates(self, obs):
        logits = self.policy(obs)
        uniform = torch.full_like(logits, 1.0 / self.n_assets)
        greedy = torch.softmax(4 * logits, -1)
        soft = torch.softmax(logits, -1)
        return [soft, greedy, uniform, 0.5 * (soft + uniform)]

    def forward(self, obs):
        plans = self.candidates(obs)
        ranked = sorted(plans, key=lambda w: self.critic(obs, w), reverse=True)  # EXPECT: sort-by-tensor-key
        best, runner_up = ranked[:2]
        turnover = (best - runner_up).abs().sum(-1)
        return best, turnover


def get_model():
    return RebalancingActor().eval()


def get_inputs():
    return (torch.randn(3, 12),)
