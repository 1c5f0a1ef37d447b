"""A batch that is declared dynamic, and code that wants its number."""

import torch
from torch import nn
from torch.export import Dim


class Batches(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(4, 4)
        self.count = 0

    def forward(self, x, mask):
        self.count += x.shape[1]  # error: state-on-self
        if mask.any():  # error: data-dependent-branch
            x = x.clamp(min=0.0)
        rows = [self.mix(row) for row in x]  # error: dynamic-shape-frozen
        lengths = mask.sum(-1).tolist()  # error: dynamic-shape-frozen
        if max(lengths) > 2:  # error: data-dependent-branch
            rows = list(reversed(rows))
        return torch.stack(rows) * self.count


model = Batches().eval()
example_args = (torch.randn(3, 4), torch.tensor([[True, False, False, False]] * 3))
batch = Dim("batch")
dynamic_shapes = {"x": {0: batch}, "mask": {0: batch}}
