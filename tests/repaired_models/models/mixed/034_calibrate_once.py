"""Pump condition monitor: sensors are standardised with the statistics of the first batch seen on site."""
import torch
from torch import nn


class SiteStandardiser(nn.Module):
    def __init__(self, sensors):
        super().__init__()
        self.register_buffer("mean", torch.zeros(sensors))
        self.register_buffer("std", torch.ones(sensors))

    def forward(self, x):
        if self.training:  # EXPECT: training-mode-branch
            self.mean.copy_(x.mean(dim=(0, 1)))
            self.std.copy_(x.std(dim=(0, 1)) + 1e-3)
            self.eval()  # EXPECT: training-mode-branch
        return (x - self.mean) / self.std


class AutoEncoder(nn.Module):
    def __init__(self, d, code):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 2 * code), nn.SELU(), nn.Linear(2 * code, code))
        self.dec = nn.Sequential(nn.Linear(code, 2 * code), nn.SELU(), nn.Linear(2 * code, d))

    def forward(self, x):
        return self.dec(self.enc(x))


class PumpMonitor(nn.Module):
    def __init__(self, sensors=6, code=3):
        super().__init__()
        self.site = SiteStandardiser(sensors)
        self.ae = AutoEncoder(sensors, code)
        self.log_scale = nn.Parameter(torch.zeros(sensors))

    def forward(self, readings):
        x = self.site(readings)
        err = (self.ae(x) - x).square() * self.log_scale.exp()
        return err.mean(-1), err.amax(dim=1)


def get_model():
    torch.manual_seed(42)
    model = PumpMonitor().eval()
    model.site.train()
    return model


def get_inputs():
    return (torch.randn(2, 10, 6) * 3 + 1,)


def get_other_inputs():
    return (torch.randn(2, 10, 6) * 0.5 - 4,)
