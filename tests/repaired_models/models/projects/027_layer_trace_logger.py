"""U-Net-like segmentation net with an audit trail of the resolution levels."""
import logging

import torch
import torch.nn as nn

log = logging.getLogger("segnet")
log.setLevel(logging.INFO)
AUDIT: list = []


def audited(fn):
    def wrapper(self, x):
        y = fn(self, x)
        AUDIT.append((self.tag, tuple(y.shape)))  # EXPECT: side-effect-lost
        return y
    return wrapper


class Level(nn.Module):
    def __init__(self, tag, cin, cout, stride=1):
        super().__init__()
        self.tag = tag
        self.conv = nn.Conv2d(cin, cout, 3, stride=stride, padding=1)
        self.gn = nn.GroupNorm(2, cout)

    @audited
    def forward(self, x):
        return torch.relu(self.gn(self.conv(x)))


class SegNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.e1, self.e2 = Level("enc1", 1, 8), Level("enc2", 8, 16, 2)
        self.up = nn.Upsample(scale_factor=2)
        self.d1 = Level("dec1", 24, 8)
        self.out = nn.Conv2d(8, classes, 1)

    def forward(self, x):
        a = self.e1(x)
        b = self.up(self.e2(a))
        return self.out(self.d1(torch.cat([a, b], 1)))


def get_model():
    AUDIT.clear()
    return SegNet().eval()


def get_inputs():
    return (torch.randn(1, 1, 16, 16),)


def observe():
    return list(AUDIT)
