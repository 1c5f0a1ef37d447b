"""Streaming noise suppressor: the recurrent state lives on the module between chunks."""
import torch
from torch import nn


class MaskNet(nn.Module):
    def __init__(self, bins, hidden):
        super().__init__()
        self.inp = nn.Linear(bins, hidden)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)
        self.mask = nn.Linear(hidden, bins)
        self.state = None

    def reset(self):
        self.state = None

    def forward(self, spec):
        h, self.state = self.gru(torch.relu(self.inp(spec)), self.state)  # EXPECT: mutable-module-state
        return torch.sigmoid(self.mask(h))


class Suppressor(nn.Module):
    def __init__(self, bins=16, hidden=12, floor=0.05):
        super().__init__()
        self.net = MaskNet(bins, hidden)
        self.floor = floor

    def forward(self, spec):
        mask = self.net(torch.log1p(spec))
        return spec * mask.clamp(min=self.floor)


def get_model():
    torch.manual_seed(48)
    return Suppressor().eval()


def get_inputs():
    return (torch.rand(1, 5, 16),)


def get_other_inputs():
    return (torch.rand(1, 5, 16) * 4,)
