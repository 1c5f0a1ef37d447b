"""Forces as the gradient of an energy, with the habits of a training script."""

import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.steps = 0

    def forward(self, positions):
        energy = self.net(positions).sum()
        if energy.isnan():  # error: data-dependent-branch
            energy = torch.zeros(())
        self.steps += 1  # error: state-on-self
        cutoff = int(positions.norm(dim=-1).max())  # error: tensor-as-python-number
        weight = self.net[0].weight
        weight.data = weight.data / weight.data.norm()  # error: tensor-data-access
        return energy / (cutoff + self.steps)


model = Energy().eval()
example_args = (torch.randn(4, 3),)
