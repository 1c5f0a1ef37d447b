import random

import torch
from torch import nn


class SpecAugment(nn.Module):
    def __init__(self, max_t=5, max_f=3):
        super().__init__()
        self.max_t, self.max_f = max_t, max_f

    def forward(self, spec):
        _, n_f, n_t = spec.shape
        spec = spec.clone()
        f = random.randint(1, self.max_f)
        f0 = random.randint(0, n_f - f)
        t = random.randint(1, self.max_t)
        t0 = random.randint(0, n_t - t)
        spec[:, f0:f0 + f, :] = 0
        spec[:, :, t0:t0 + t] = 0
        return spec


class AccentClassifier(nn.Module):
    def __init__(self, n_mels=10, classes=4):
        super().__init__()
        self.aug = SpecAugment()
        self.net = nn.Sequential(nn.Conv1d(n_mels, 12, 3), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten())
        self.fc = nn.Linear(12, classes)

    def forward(self, mel):
        return self.fc(self.net(self.aug(mel)))


def get_model():
    return AccentClassifier()


def get_inputs():
    return (torch.randn(2, 10, 30),)


def get_other_inputs():
    return (torch.randn(2, 10, 30) + 2,)
