"""Stack of leaky integrator units (spiking-style) with one membrane trace for each layer."""
import torch
from torch import nn


class LeakyStack(nn.Module):
    def __init__(self, widths=(6, 10, 8), batch=3, leak=0.6):
        super().__init__()
        self.leak = leak
        self.depth = len(widths) - 1
        for i, (a, b) in enumerate(zip(widths[:-1], widths[1:])):
            self.add_module(f"syn{i}", nn.Linear(a, b))
            setattr(self, f"mem{i}", torch.zeros(batch, b))

    def forward(self, x):
        for i in range(self.depth):
            current = getattr(self, f"syn{i}")(x)
            v = self.leak * getattr(self, f"mem{i}") + current
            spikes = torch.sigmoid(5 * (v - 0.3))
            setattr(self, f"mem{i}", (v * (1 - spikes)).detach())  # EXPECT: setattr-computed-name
            x = spikes
        return x


def get_model():
    return LeakyStack().eval()


def get_inputs():
    return (torch.randn(3, 6),)
