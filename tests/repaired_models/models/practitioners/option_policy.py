import torch
from torch import nn


def mlp(i, o, h=16):
    return nn.Sequential(nn.Linear(i, h), nn.Tanh(), nn.Linear(h, o))


class OptionCritic(nn.Module):
    """Manager picks one of the options; the option's policy acts."""

    def __init__(self, obs_dim=10, act_dim=3, n_options=4):
        super().__init__()
        self.manager = mlp(obs_dim, n_options)
        self.options = nn.ModuleList([mlp(obs_dim, act_dim) for _ in range(n_options)])
        self.termination = mlp(obs_dim, n_options)
        self.value = mlp(obs_dim, 1)

    def forward(self, obs):
        q = self.manager(obs)
        choice = torch.argmax(q, dim=-1)
        option = self.options[int(choice)]
        action = torch.tanh(option(obs))
        beta = torch.sigmoid(self.termination(obs)).gather(-1, choice.unsqueeze(-1))
        return action, beta, self.value(obs)


def get_model():
    return OptionCritic().eval()


def get_inputs():
    return (torch.randn(10),)


def get_other_inputs():
    return (torch.randn(10) * 5 + 2,)
