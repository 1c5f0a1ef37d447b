"""Star photometry regressor: background level is estimated per image and used to scale the network."""
import math

import torch
import torch.nn as nn


def robust_background(img):
    """median of the border pixels"""
    border = torch.cat([img[..., 0, :], img[..., -1, :], img[..., :, 0], img[..., :, -1]], dim=-1)
    return border.median()


def asinh_stretch(img, softening):
    return torch.asinh(img / softening)


class PhotometryNet(nn.Module):
    zero_point = 25.0

    def __init__(self, width=8):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.body = nn.Sequential(nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 3, stride=2, padding=1), nn.ReLU())
        self.flux = nn.Linear(width, 1)

    def _softening(self, img):
        bg = robust_background(img)
        level = math.log10(1.0 + abs(float(bg)))  # EXPECT: tensor-to-python
        return max(0.1, round(level, 2))  # EXPECT: tensor-to-python

    def forward(self, img):
        soft = self._softening(img)
        z = self.body(self.stem(asinh_stretch(img, soft)))
        counts = torch.nn.functional.softplus(self.flux(z.mean((2, 3))))
        return self.zero_point - 2.5 * torch.log10(counts * soft)


def get_model():
    return PhotometryNet().eval()


def get_inputs():
    return (torch.rand(2, 1, 16, 16) * 30,)


def get_other_inputs():
    return (torch.rand(2, 1, 16, 16) * 0.2,)
