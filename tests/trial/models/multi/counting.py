"""Python counts what tensors hold."""

import torch
from torch import nn


class Counts(nn.Module):
    def forward(self, x, labels):
        repeat = int(labels.sum())  # error: tensor-as-python-number
        x = torch.cat([x] * repeat)  # error: tensor-as-python-number
        largest = max(x.unbind(0), key=lambda row: row.sum())  # error: data-dependent-branch
        positives = [row for row in x if row.sum() > 0]  # error: data-dependent-branch
        if labels[0] in (1, 2):  # error: data-dependent-branch
            largest = largest * 2
        return largest * len(positives)


model = Counts().eval()
example_args = (torch.randn(3, 4), torch.tensor([1, 1, 1]))
