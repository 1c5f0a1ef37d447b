"""State-of-health estimate for a battery pack, with a conservative path for packs that look deeply discharged."""
from typing import NamedTuple

import torch
from torch import nn


class Limits(NamedTuple):
    low: float = 3.0
    high: float = 4.2
    spread: float = 0.15


class CellEncoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gru = nn.GRU(3, width, batch_first=True)

    def forward(self, trace):
        _, last = self.gru(trace)
        return last[0]


class ChargeGate(nn.Module):
    """Keeps voltages within the window, and says how the pack is to be treated."""

    def __init__(self, limits):
        super().__init__()
        self.limits = limits

    def forward(self, volts):
        lo, hi, spread = self.limits
        balanced = not (volts.amax() - volts.amin()).gt(spread)
        if lo < volts.mean() < hi and balanced:
            return volts
        return volts.clamp(lo, hi)


class PackHealth(nn.Module):
    def __init__(self, width=16, limits=Limits()):
        super().__init__()
        self.gate = ChargeGate(limits)
        self.cells = CellEncoder(width)
        self.usual = nn.Linear(width, 1)
        self.careful = nn.Sequential(nn.Linear(width, width), nn.Softplus(), nn.Linear(width, 1))
        self.temperature_limit = 55.0

    def _hottest(self, trace):
        return trace.select(-1, 2).max()

    def forward(self, trace):
        volts = self.gate(trace[..., 0])
        trace = torch.cat([volts.unsqueeze(-1), trace[..., 1:]], dim=-1)
        if trace.shape[-1] != 3:
            raise ValueError("expected volt, ampere, temperature")
        code = self.cells(trace)
        head = self.careful if (peak := self._hottest(trace)) >= self.temperature_limit else self.usual
        health = head(code).sigmoid()
        return health, peak


def sample_trace(cells=4, steps=12):
    torch.manual_seed(4)
    volts = 3.7 + 0.02 * torch.randn(cells, steps)
    return torch.stack([volts, torch.randn(cells, steps), 25 + torch.rand(cells, steps)], dim=-1)


model = PackHealth().eval()
example_inputs = (sample_trace(),)
