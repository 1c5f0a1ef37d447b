"""Broad excepts and Python containers around tensors."""

import torch
from torch import nn

NAMES = {0: 1.0, 1: 2.0}
SEEN = []


class Fallback(nn.Module):
    def forward(self, x, lang):
        factor = NAMES[int(lang)]  # error: tensor-as-python-number
        SEEN.append(factor)  # error: side-effect-in-forward
        x = x * factor
        order = sorted(x.unbind(0), key=lambda row: row.sum())  # error: data-dependent-branch
        if x.sum().item() > 0 and x.min() < 0:  # error: data-dependent-branch
            x = torch.stack(order)
        key = hash(x)  # error: object-identity
        return x + key % 7919


model = Fallback().eval()
example_args = (torch.randn(3, 4), torch.tensor(1))
