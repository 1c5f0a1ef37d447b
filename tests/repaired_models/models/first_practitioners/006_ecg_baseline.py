"""Arrhythmia classifier for ECG strips, baseline wander removed before the network."""
import numpy as np
import torch
from torch import nn


def remove_baseline(sig, order=2):
    arr = sig.numpy()  # EXPECT: numpy-round-trip
    t = np.linspace(-1, 1, arr.shape[-1])
    coef = np.polyfit(t, arr.T, order)  # EXPECT: numpy-round-trip
    base = sum(c[:, None] * t ** (order - i) for i, c in enumerate(coef))
    return torch.from_numpy((arr - base).astype(np.float32))  # EXPECT: numpy-round-trip


class ECGNet(nn.Module):
    def __init__(self, leads=3, classes=4):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(leads, 16, 7, stride=2, padding=3),
            nn.BatchNorm1d(16),
            nn.ReLU(),
            nn.Conv1d(16, 24, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
        )
        self.fc = nn.Linear(24, classes)

    def forward(self, strip):
        b, l, t = strip.shape
        flat = remove_baseline(strip.reshape(b * l, t))
        return self.fc(self.body(flat.view(b, l, t)).squeeze(-1))


def get_model():
    return ECGNet().eval()


def get_inputs():
    return (torch.randn(2, 3, 96) + torch.linspace(0, 3, 96),)


def get_other_inputs():
    return (torch.randn(2, 3, 96) - torch.linspace(0, 5, 96),)
