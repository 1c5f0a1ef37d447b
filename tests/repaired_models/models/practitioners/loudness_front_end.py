# loudness normalisation in front of a keyword spotter
import math
import torch
from torch import nn


def lufs_like(wave):
    ms = wave.pow(2).mean().item()
    return -0.691 + 10.0 * math.log10(ms + 1e-10)


class KeywordSpotter(nn.Module):
    def __init__(self, target=-23.0, classes=5):
        super().__init__()
        self.target = target
        self.fe = nn.Conv1d(1, 8, 25, stride=10)
        self.gru = nn.GRU(8, 12, batch_first=True)
        self.cls = nn.Linear(12, classes)

    def forward(self, wave):
        gain_db = self.target - lufs_like(wave)
        wave = wave * 10.0 ** (gain_db / 20.0)
        f = torch.relu(self.fe(wave)).transpose(1, 2)
        _, h = self.gru(f)
        return self.cls(h[-1])


def get_model():
    return KeywordSpotter().eval()


def get_inputs():
    return (torch.randn(1, 1, 400) * 0.1,)


def get_other_inputs():
    return (torch.randn(1, 1, 400) * 2,)
