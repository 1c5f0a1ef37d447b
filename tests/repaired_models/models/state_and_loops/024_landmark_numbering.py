"""Detector post-processing: every peak of the heat map gets an embedding by its reading order."""
import torch
import torch.nn.functional as F
from torch import nn


class LandmarkNumbering(nn.Module):
    def __init__(self, max_peaks=64, d=4):
        super().__init__()
        self.heat = nn.Conv2d(1, 1, 3, padding=1)
        self.order = nn.Embedding(max_peaks, d)
        self.d = d

    def forward(self, img):
        h = self.heat(img)
        peak = (h == F.max_pool2d(h, 3, stride=1, padding=1))[0, 0]
        canvas = img.new_zeros(self.d, *img.shape[-2:])
        for rank, (r, c) in enumerate(peak.nonzero()):  # EXPECT: loop-over-nonzero
            canvas[:, r, c] = self.order.weight[rank] * h[0, 0, r, c]
        return canvas.unsqueeze(0), peak.sum()


def get_model():
    return LandmarkNumbering().requires_grad_(False).eval()


def get_inputs():
    return (torch.randn(1, 1, 8, 8),)


def get_other_inputs():
    base = torch.linspace(0, 1, 8).view(1, 1, 8, 1) * torch.linspace(0, 1, 8)
    return (base + 0.2 * torch.randn(1, 1, 8, 8),)
