"""Tide gauge forecaster: harmonic features plus a learned filter over histories of any length."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.export import Dim

CONSTITUENTS = (12.42, 12.0, 25.82, 23.93)  # hours


class Harmonics(nn.Module):
    def __init__(self):
        super().__init__()
        self.amp = nn.Parameter(torch.randn(len(CONSTITUENTS), 2))
        self.register_buffer("omega", 2 * torch.pi / torch.tensor(CONSTITUENTS))

    def forward(self, hours):
        phase = hours.unsqueeze(-1) * self.omega
        return (torch.cos(phase) * self.amp[:, 0] + torch.sin(phase) * self.amp[:, 1]).sum(-1)


class TideForecaster(nn.Module):
    def __init__(self, ch=12, horizon=12):
        super().__init__()
        self.harm = Harmonics()
        self.filt = nn.Conv1d(1, ch, 9, padding=4)
        self.out = nn.Linear(ch, horizon)

    def pool_windows(self, n):
        # coarse to fine windows that divide the history
        return [w for w in (2, 3, 4, 6, 8, 12) if n % w == 0]  # EXPECT: auto-dim-specialised

    def forward(self, level, hours):
        resid = level - self.harm(hours)
        x = F.relu(self.filt(resid.unsqueeze(1)))
        scales = [F.avg_pool1d(x, w).amax(-1) for w in self.pool_windows(level.shape[-1])]
        h = torch.stack(scales).mean(0)
        return self.out(h)


def get_model():
    return TideForecaster().eval()


def get_inputs():
    return torch.randn(2, 48), torch.rand(2, 48) * 100


def get_other_inputs():
    return torch.randn(2, 40), torch.rand(2, 40) * 100


def get_dynamic_shapes():
    return ({1: Dim.AUTO}, {1: Dim.AUTO})
