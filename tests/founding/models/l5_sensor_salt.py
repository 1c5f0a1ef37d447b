"""Tide gauge anomaly score over a few stations."""
import os

import torch
import torch.nn as nn


class Station(nn.Module):
    def __init__(self, name, window=8):
        super().__init__()
        self.name = name
        self.smooth = nn.Conv1d(1, 3, window, padding="same")

    def phase(self):
        return (hash(self.name) % 360) / 57.3

    def forward(self, tide):
        h = self.smooth(tide[:, None]).relu()
        return h.sum(1) + self.phase()


class TideScore(nn.Module):
    def __init__(self, stations=("Brest", "Cuxhaven")):
        super().__init__()
        self.stations = nn.ModuleList(Station(s) for s in stations)
        self.head = nn.Linear(2, 1)

    def forward(self, tide):
        per = torch.stack([s(tide) for s in self.stations], dim=-1)
        jitter = (id(per) >> 4) % 1024 / 1024.0
        worker = os.getpid() % 7
        return self.head(per + jitter).squeeze(-1) * worker


def get_model():
    torch.manual_seed(71)
    return TideScore().eval()


def get_inputs():
    return (torch.randn(2, 16, generator=torch.Generator().manual_seed(72)),)
