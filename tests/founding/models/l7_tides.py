"""Tide forecast, exported the way the 2.1 tutorial did."""
import torch
from torch import nn
from torch.export import export


class Harmonics(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.register_buffer("speeds", torch.linspace(0.05, 0.6, count))

    def forward(self, hours):
        phase = hours.unsqueeze(-1) * self.speeds
        return torch.cat([phase.sin(), phase.cos()], dim=-1)


class TideForecast(nn.Module):
    """Levels for the next hours; how many of them is read from a tensor."""

    def __init__(self, count=6):
        super().__init__()
        self.harmonics = Harmonics(count)
        self.level = nn.Linear(2 * count, 1)

    def _ahead(self, horizon):
        steps = horizon.item()
        torch._constrain_as_size(steps, min=2, max=48)
        return torch.arange(steps, dtype=torch.float32)

    def _gauge(self, station):
        number = station.item()
        torch._constrain_as_value(number, 0, 9)
        return torch.full((1,), number * 0.1)

    def forward(self, past, horizon, station):
        ahead = self._ahead(horizon)
        hours = past.shape[1] + ahead
        tide = self.level(self.harmonics(hours)).squeeze(-1)
        return past.mean(1, keepdim=True) + tide + self._gauge(station)


torch.manual_seed(10)
model = TideForecast().eval()
example_inputs = (torch.randn(3, 24), torch.tensor(12), torch.tensor(4))


def limits(past):
    gauges = torch.export.dynamic_dim(past, 0)
    hours = torch.export.dynamic_dim(past, 1)
    return [gauges >= 2, gauges <= 128, 6 <= hours]


if __name__ == "__main__":
    program = export(model, example_inputs, constraints=limits(example_inputs[0]))
    print(program)
