"""ECG classifier with stochastic depth that stays on at test time for uncertainty."""
import random

import torch
import torch.nn as nn


class ResUnit(nn.Module):
    def __init__(self, ch, k=7):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(ch, ch, k, padding=k // 2), nn.BatchNorm1d(ch), nn.ReLU())

    def forward(self, x):
        return self.body(x)


class MCStochasticECG(nn.Module):
    def __init__(self, leads=4, ch=12, depth=6, drop=0.5, classes=4):
        super().__init__()
        self.stem = nn.Conv1d(leads, ch, 9, stride=2, padding=4)
        self.units = nn.ModuleList(ResUnit(ch) for _ in range(depth))
        self.drop = drop
        self.head = nn.Linear(ch, classes)

    def survive(self, depth_frac):
        return random.random() >= self.drop * depth_frac  # EXPECT: random-python

    def forward(self, ecg):
        x = self.stem(ecg)
        n = len(self.units)
        for i, unit in enumerate(self.units, start=1):
            if self.survive(i / n):
                x = x + unit(x)
        return self.head(x.mean(-1)).softmax(-1)


def get_model():
    return MCStochasticECG().eval()


def get_inputs():
    return (torch.randn(2, 4, 64),)
