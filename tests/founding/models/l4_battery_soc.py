"""Battery state of charge: a Kalman-like filter."""
import torch
from torch import nn


class SocFilter(nn.Module):
    def __init__(self, cells=4):
        super().__init__()
        self.drift = nn.Parameter(torch.full((cells,), 0.02))
        self.register_buffer("soc", torch.full((cells,), 0.5))
        self.gain = nn.Linear(2 * cells, cells)

    def predict(self, current):
        used = current.mean(0) * 0.01
        self.soc.data -= used
        return self.soc

    def correct(self, volts, soc):
        k = self.gain(torch.cat([volts.mean(0), soc])).sigmoid()
        estimate = soc + k * (volts.mean(0) - 3.6)
        estimate.data.clamp_(min=0.0, max=1.0)
        return estimate

    def forward(self, current, volts):
        soc = self.predict(current)
        return self.correct(volts, soc) - self.drift


def get_model():
    torch.manual_seed(61)
    return SocFilter().eval()


def get_inputs():
    g = torch.Generator().manual_seed(62)
    return torch.rand(5, 4, generator=g), 3.4 + torch.rand(5, 4, generator=g)


def get_other_inputs():
    g = torch.Generator().manual_seed(63)
    return 8 * torch.rand(5, 4, generator=g), 3.9 + torch.rand(5, 4, generator=g)
