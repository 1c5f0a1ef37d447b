"""What training code leaves behind in a model."""

import torch
from torch import nn


class Leftovers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.history = []
        self.step = 0

    def forward(self, x):
        self.step += 1  # error: state-on-self
        if torch.isnan(x).any():  # error: data-dependent-branch
            x = torch.nan_to_num(x)
        y = self.layer(x)
        self.history.append(float(y.mean()))  # error: tensor-as-python-number, state-on-self
        self.layer.weight.data.mul_(0.99)  # error: tensor-data-access
        torch.manual_seed(self.step)  # error: torch-random-state
        return y * self.step


model = Leftovers().eval()
example_args = (torch.randn(2, 4),)
