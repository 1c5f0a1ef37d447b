"""Greenhouse climate controller: a residual MLP with a frost mode and a dew correction."""
import torch
from torch import nn


def saturation_pressure(t):
    return 0.6108 * torch.exp(17.27 * t / (t + 237.3))


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = nn.Linear(width, width)

    def forward(self, h):
        return torch.sigmoid(self.lin(h)) * h


class VentController(nn.Module):
    def __init__(self, sensors=6, width=16):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(sensors, width), nn.Mish(), Gate(width))
        self.vents = nn.Linear(width, 4)
        self.heaters = nn.Linear(width, 4)
        self.register_buffer("frost_limit", torch.tensor(3.0))

    def dew_risk(self, air):
        vapour = saturation_pressure(air[:, 0]) * air[:, 1]
        return vapour.mean() > 1.2

    def forward(self, air):
        h = self.encode(air)
        freezing = air[:, 0].amin() < self.frost_limit
        command = self.heaters(h) if freezing else self.vents(h)
        if not self.dew_risk(air):
            return command.tanh()
        return (command + air[:, 1:2]).tanh()


def get_model():
    torch.manual_seed(31)
    return VentController().eval()


def get_inputs():
    g = torch.Generator().manual_seed(32)
    air = torch.rand(3, 6, generator=g)
    air[:, 0] = torch.tensor([14.0, 18.5, 22.0])
    return (air,)


def get_other_inputs():
    cold = get_inputs()[0].clone()
    cold[1, 0] = -2.0
    humid = get_inputs()[0].clone()
    humid[:, 0] += 15.0
    humid[:, 1] = 0.95
    return [(cold,), (humid,)]
