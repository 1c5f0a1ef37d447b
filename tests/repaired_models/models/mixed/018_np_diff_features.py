"""Gait classifier on accelerometer windows: raw signal, jerk and cumulative energy channels."""
import numpy as np
import torch
from torch import nn


def motion_channels(acc):
    a = np.asarray(acc)  # EXPECT: numpy-interop
    jerk = np.diff(a, axis=1, prepend=a[:, :1])
    energy = np.cumsum(a ** 2, axis=1) / a.shape[1]
    return torch.from_numpy(np.concatenate([a, jerk, energy], axis=-1))


class TemporalBlock(nn.Module):
    def __init__(self, cin, cout, dilation):
        super().__init__()
        self.pad = nn.ConstantPad1d((2 * dilation, 0), 0.0)
        self.conv = nn.Conv1d(cin, cout, 3, dilation=dilation)
        self.res = nn.Conv1d(cin, cout, 1)

    def forward(self, x):
        return torch.relu(self.conv(self.pad(x)) + self.res(x))


class GaitNet(nn.Module):
    def __init__(self, axes=3, width=12, gaits=4):
        super().__init__()
        self.tcn = nn.Sequential(
            TemporalBlock(3 * axes, width, 1),
            TemporalBlock(width, width, 2),
            TemporalBlock(width, width, 4),
        )
        self.fc = nn.Linear(width, gaits)

    def forward(self, acc):
        feats = motion_channels(acc)
        return self.fc(self.tcn(feats.transpose(1, 2)).amax(-1))


def get_model():
    torch.manual_seed(22)
    return GaitNet().eval()


def get_inputs():
    return (torch.randn(2, 25, 3),)


def get_other_inputs():
    return (torch.randn(2, 25, 3) * 3,)
