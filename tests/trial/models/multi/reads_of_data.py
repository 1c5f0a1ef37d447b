"""Of the reads through `.data`, some hide a tensor from the tracer; one makes a new tensor, and one asks for a size."""

import torch
from torch import nn


class Masked(nn.Module):
    def forward(self, x, lengths):
        start = x.data.new(2, 4).zero_()  # error: tensor-data-access
        longest = lengths.numpy().max()  # error: numpy-round-trip
        y = x + start * x.data.shape[0]
        y.data.masked_fill_(y > longest, 0.0)  # error: tensor-data-access
        y = y + torch.zeros_like(x.data)  # error: tensor-data-access
        return y * 2


model = Masked().eval()
example_args = (torch.randn(2, 4), torch.tensor([3, 2]))
