"""Glucose forecast: an own recurrent cell walks through the readings of a day."""
import torch
from torch import nn
from torch.export import Dim


class InsulinCell(nn.Module):
    """A leaky cell with two time scales."""

    def __init__(self, inputs, width):
        super().__init__()
        self.drive = nn.Linear(inputs + width, 2 * width)
        self.leak = nn.Parameter(torch.linspace(0.5, 0.95, width))

    def forward(self, reading, state):
        candidate, gate = self.drive(torch.cat([reading, state], dim=-1)).chunk(2, -1)
        return torch.lerp(candidate.tanh(), state, self.leak * gate.sigmoid())


class DayWalk(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.cell = InsulinCell(inputs, width)
        self.width = width

    def start(self, readings):
        return readings.new_zeros(readings.shape[0], self.width)

    def forward(self, readings):
        state, track = self.start(readings), []
        steps = iter(readings.unbind(dim=1))
        while (reading := next(steps, None)) is not None:
            state = self.cell(reading, state)
            track.append(state)
        return torch.stack(track, dim=1)


class Glucose(nn.Module):
    def __init__(self, inputs=3, width=8, ahead=4):
        super().__init__()
        self.walk = DayWalk(inputs, width)
        self.ahead = nn.Linear(width, ahead)

    def forward(self, readings, basal):
        track = self.walk(torch.cat([readings, basal.unsqueeze(-1)], dim=-1))
        return self.ahead(track[:, -1]) + basal[:, -1:], track.amax(1)


torch.manual_seed(26)
model = Glucose().eval()
example_inputs = (torch.randn(2, 12, 2), torch.rand(2, 12))
patients, readings = Dim("patients", min=1, max=64), Dim("readings", min=2, max=288)
dynamic_shapes = {"readings": {0: patients, 1: readings}, "basal": {0: patients, 1: readings}}
