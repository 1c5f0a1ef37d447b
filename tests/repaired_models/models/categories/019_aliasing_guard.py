"""Upsampling block that keeps the caller's picture intact."""
import torch
from torch import nn
import torch.nn.functional as F


def private_copy(src, candidate):
    """candidate, or a copy of it where it shares memory with src"""
    if candidate.data_ptr() == src.data_ptr():  # EXPECT: python-object-identity
        candidate = candidate.clone()
    return candidate


class Upsample(nn.Module):
    def __init__(self, ch=3, factor=2):
        super().__init__()
        self.factor = factor
        self.conv = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, img):
        work = private_copy(img, img.contiguous())
        work.clamp_(0.0, 1.0)
        up = F.interpolate(work, scale_factor=self.factor, mode="nearest")
        return self.conv(up), img


def get_model():
    return Upsample().eval()


def get_inputs():
    return (torch.randn(1, 3, 5, 5),)


def get_other_inputs():
    return (torch.randn(1, 3, 5, 5) * 2,)
