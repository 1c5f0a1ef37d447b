"""Argument checks as people write them."""

import logging

import torch
from torch import nn

log = logging.getLogger(__name__)


class Embeds(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 4)

    def forward(self, ids, weight):
        if (ids < 0).any():  # error: data-dependent-branch
            raise ValueError("negative")
        if torch.equal(weight, torch.zeros_like(weight)):  # error: data-dependent-branch
            weight = weight + 1
        log.warning("embedding %s", tuple(ids.shape))  # error: side-effect-in-forward
        name = f"{weight.sum():.1f}"  # error: tensor-in-string
        return self.table(ids) * weight * len(name)


model = Embeds().eval()
example_args = (torch.tensor([1, 2, 3]), torch.ones(3, 1))
