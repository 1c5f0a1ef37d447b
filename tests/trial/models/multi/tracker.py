"""A tracker that compares identities and reads the environment."""

import os

import torch
from torch import nn


class Tracker(nn.Module):
    def forward(self, x, previous):
        scale = float(os.environ.get("TRACKER_SCALE", "2"))  # error: clock-or-environment
        x = x * scale
        if x.data_ptr() == previous.data_ptr():  # error: object-identity
            return x
        distance = (x - previous).norm()
        if distance > 1:  # error: data-dependent-branch
            x = previous
        steps = distance.numpy()  # error: numpy-round-trip
        x = x + float(steps)
        return x * (id(previous) % 7919)  # error: object-identity


model = Tracker().eval()
example_args = (torch.randn(2, 4), torch.randn(2, 4))
