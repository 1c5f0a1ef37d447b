"""Conv net with a damping scope around its residual branch."""
import torch
from torch import nn


class Damping:
    """scope that hands out a gain and weakens it every time it is left"""

    def __init__(self, rate=0.6, floor=0.05):
        self.gain = 1.0
        self.rate, self.floor = rate, floor

    def __enter__(self):
        return self.gain  # EXPECT: context-manager

    def __exit__(self, exc_type, exc, tb):
        self.gain = max(self.floor, self.gain * self.rate)  # EXPECT: context-manager
        return False


class DampedBlock(nn.Module):
    def __init__(self, ch=3):
        super().__init__()
        self.conv = nn.Conv1d(ch, ch, 3, padding=1)
        self.norm = nn.GroupNorm(1, ch)
        self.damping = Damping()

    def forward(self, x):
        with self.damping as gain:  # EXPECT: context-manager
            branch = torch.relu(self.norm(self.conv(x)))
            x = x + gain * branch
        return x


class DampedNet(nn.Module):
    def __init__(self, ch=3, classes=2):
        super().__init__()
        self.block = DampedBlock(ch)
        self.head = nn.Linear(ch, classes)

    def forward(self, x):
        return self.head(self.block(x).mean(-1))


def get_model():
    return DampedNet().eval()


def get_inputs():
    return (torch.randn(2, 3, 9),)
