"""Anomaly scorer for plant sensors, normalises by the range seen so far."""
import torch
import torch.nn as nn


class SensorAnomaly(nn.Module):
    def __init__(self, n_sensors=6, d=16):
        super().__init__()
        self.ae = nn.Sequential(nn.Linear(n_sensors, d), nn.SiLU(), nn.Linear(d, 3), nn.SiLU(), nn.Linear(3, n_sensors))
        self.stats = {"lo": torch.full((n_sensors,), -0.5), "hi": torch.full((n_sensors,), 0.5)}
        self.momentum = 0.98

    def _observe(self, x):
        lo, hi = x.amin(0), x.amax(0)
        m = self.momentum
        self.stats["lo"] = torch.minimum(self.stats["lo"] * m, lo)  # EXPECT: mutable-module-state
        self.stats["hi"] = torch.maximum(self.stats["hi"] * m, hi)  # EXPECT: mutable-module-state

    def _scale(self, x):
        span = (self.stats["hi"] - self.stats["lo"]).clamp_min(1e-3)
        return (x - self.stats["lo"]) / span

    def forward(self, x):
        self._observe(x)
        z = self._scale(x)
        rec = self.ae(z)
        return (rec - z).pow(2).mean(-1)


def get_model():
    return SensorAnomaly().eval()


def get_inputs():
    return (torch.randn(5, 6) * 2,)


def get_other_inputs():
    return (torch.randn(5, 6) * 0.4,)
