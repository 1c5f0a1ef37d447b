"""Gesture recogniser on EMG; a forward hook equalises the gain of the second stage over time."""
import torch
from torch import nn


class GainEqualiser:
    """Hook object: halves the correction at each visit, as the electrodes settle."""

    def __init__(self, start=1.0):
        self.correction = start

    def __call__(self, module, args, output):
        out = output * (1.0 + self.correction)
        self.correction *= 0.5  # EXPECT: hooks
        return out


class Stage(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv1d(cin, cout, 5, stride=2, padding=2)
        self.act = nn.Hardswish()

    def forward(self, x):
        return self.act(self.conv(x))


class EmgNet(nn.Module):
    def __init__(self, electrodes=8, gestures=5):
        super().__init__()
        self.s1 = Stage(electrodes, 12)
        self.s2 = Stage(12, 16)
        self.fc = nn.Linear(16, gestures)
        self.s2.register_forward_hook(GainEqualiser())  # EXPECT: hooks

    def forward(self, emg):
        return self.fc(self.s2(self.s1(emg)).mean(-1))


def get_model():
    torch.manual_seed(40)
    return EmgNet().eval()


def get_inputs():
    return (torch.randn(2, 8, 40),)


def get_other_inputs():
    return (torch.randn(2, 8, 40) * 0.5,)
