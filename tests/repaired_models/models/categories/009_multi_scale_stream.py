"""Multi-scale encoder that yields its maps one after the other."""
import torch
import torch.nn as nn


class MultiScale(nn.Module):
    def __init__(self, ch=1, width=3, levels=3):
        super().__init__()
        self.inp = nn.Conv1d(ch, width, 3, padding=1)
        self.down = nn.ModuleList(nn.Conv1d(width, width, 2, stride=2) for _ in range(levels))

    def forward(self, x):
        def maps(h):
            for d in self.down:
                h = torch.relu(d(h))
                yield h.mean(-1)

        return maps(self.inp(x))  # EXPECT: generators


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = MultiScale()
        self.gain = nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        return (m * self.gain for m in self.scales(x))  # EXPECT: generators


def get_model():
    return Model().eval()


def get_inputs():
    return (torch.randn(2, 1, 16),)
