"""Segmentation head whose temporal consistency score uses mid-level features kept by a forward hook."""
import torch
from torch import nn


class FeatureTap:
    """Remembers what a layer put out in the last pass."""

    def __init__(self, layer, shape):
        self.kept = torch.zeros(shape)
        self.before = torch.zeros(shape)
        layer.register_forward_hook(self._grab)

    def _grab(self, module, args, output):
        self.before = self.kept
        self.kept = output.detach()  # EXPECT: hook-keeps-tensor


class VideoSegmenter(nn.Module):
    def __init__(self, classes=4, size=8):
        super().__init__()
        self.down = nn.Conv2d(3, 6, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(6, 6, 3, padding=1)
        self.up = nn.ConvTranspose2d(6, classes, 2, stride=2)
        self.tap = FeatureTap(self.mid, (1, 6, size // 2, size // 2))

    def forward(self, img):
        z = torch.relu(self.mid(torch.relu(self.down(img))))
        change = (self.tap.kept - self.tap.before).pow(2).mean()
        return self.up(z), change


def get_model():
    return VideoSegmenter().eval()


def get_inputs():
    return (torch.rand(1, 3, 8, 8),)
