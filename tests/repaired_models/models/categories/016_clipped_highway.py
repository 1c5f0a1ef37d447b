"""Highway network that clips its hidden activations."""
import torch
import torch.nn as nn


class Highway(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.t = nn.Linear(d, d)
        self.h = nn.Linear(d, d)

    def forward(self, x):
        g = torch.sigmoid(self.t(x))
        return g * torch.relu(self.h(x)) + (1 - g) * x


class ClippedHighway(nn.Module):
    def __init__(self, d=6, depth=3, limit=1.0):
        super().__init__()
        self.layers = nn.ModuleList([Highway(d) for _ in range(depth)])
        self.limit = limit
        self.out = nn.Linear(d, 2)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            clipped = x.detach().clamp(-self.limit, self.limit)
            x.data = clipped  # EXPECT: tensor-data-write
        return self.out(x)


def get_model():
    return ClippedHighway().eval()


def get_inputs():
    return (torch.randn(4, 6) * 3,)
