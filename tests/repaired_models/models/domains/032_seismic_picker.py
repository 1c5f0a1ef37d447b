"""Seismic phase picker; accepts plain arrays, tensors or a list of channel tensors."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def prepare(trace):
    """Demean and scale; loaders that subclass Tensor have normalised already."""
    if type(trace) is torch.Tensor:  # EXPECT: exact-tensor-type-test
        trace = trace - trace.mean(dim=-1, keepdim=True)
        trace = trace / trace.std(dim=-1, keepdim=True).clamp_min(1e-6)
    return trace


class Down(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv1d(cin, cout, 7, stride=2, padding=3)
        self.norm = nn.BatchNorm1d(cout)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Up(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.ConvTranspose1d(cin, cout, 4, stride=2, padding=1)

    def forward(self, x, skip):
        return F.relu(self.conv(x)) + skip


class PhasePicker(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.d1, self.d2 = Down(3, width), Down(width, 2 * width)
        self.u1 = Up(2 * width, width)
        self.out = nn.ConvTranspose1d(width, 3, 4, stride=2, padding=1)

    def forward(self, trace):
        x = prepare(trace)
        a = self.d1(x)
        b = self.d2(a)
        return self.out(self.u1(b, a)).softmax(dim=1)


def get_model():
    return PhasePicker().eval()


def get_inputs():
    return (20.0 + 5.0 * torch.randn(2, 3, 128),)
