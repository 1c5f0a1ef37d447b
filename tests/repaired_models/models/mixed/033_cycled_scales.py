"""Crowd counting with test-time multi-scale: the scale moves on with each frame."""
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F


def scale_schedule():
    yield from itertools.cycle((1.0, 1.5, 2.0))


class DensityHead(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.c1 = nn.Conv2d(ch, ch, 3, padding=2, dilation=2)
        self.c2 = nn.Conv2d(ch, 1, 1)

    def forward(self, x):
        return F.softplus(self.c2(torch.relu(self.c1(x))))


class CrowdCounter(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.density = DensityHead(ch)
        self.scales = scale_schedule()

    def forward(self, frame):
        s = next(self.scales)  # EXPECT: generators
        x = F.interpolate(frame, scale_factor=s, mode="bilinear", align_corners=False)
        d = self.density(self.trunk(x))
        return d.sum(dim=(1, 2, 3)) / (s * s)


def get_model():
    torch.manual_seed(41)
    return CrowdCounter().eval()


def get_inputs():
    return (torch.rand(1, 3, 16, 16),)


def get_other_inputs():
    return (torch.rand(1, 3, 16, 16) * 0.3,)
