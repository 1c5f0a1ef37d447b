"""Inputs in containers, by keyword and in *args; nothing is declared. The sample has a batch of one."""

import dataclasses

import torch
from torch import nn


@dataclasses.dataclass
class Pair:
    left: torch.Tensor
    right: torch.Tensor


torch.export.register_dataclass(Pair, serialized_type_name="exportlint_tests.Pair")


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.table = nn.Parameter(torch.randn(64, 16))

    def forward(self, batch, pair, *more, bias=None):
        tokens = batch["tokens"]
        h = self.embed(tokens) + self.table[: tokens.shape[1]]
        h = h * batch["masks"][0][..., None]
        h = h.view(h.shape[0], -1, 4, 16).sum(2)
        return h.mean(1) + pair.left * pair.right + more[0] + bias


model = Nested().eval()
example_args = (
    {"tokens": torch.randint(0, 50, (1, 8)), "masks": [torch.ones(1, 8)]},
    Pair(torch.randn(1, 16), torch.randn(1, 16)),
    torch.randn(1, 16),
)
example_kwargs = {"bias": torch.randn(16)}
