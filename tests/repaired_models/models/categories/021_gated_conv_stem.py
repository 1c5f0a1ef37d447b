"""Convolutional stem which boosts contrast for dim pictures."""
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class StemConfig:
    channels: int = 3
    width: int = 8
    dim_level: float = 0.5
    gain: float = 1.7


class ConvStem(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.conv = nn.Conv2d(cfg.channels, cfg.width, 3, padding=1)
        self.norm = nn.BatchNorm2d(cfg.width)
        self.head = nn.Linear(cfg.width, 5)

    def equalise(self, img):
        level = img.mean()
        gain = self.cfg.gain if level < self.cfg.dim_level else 1.0  # EXPECT: data-dependent-branch
        return img * gain

    def forward(self, img):
        img = self.equalise(img)
        h = F.relu(self.norm(self.conv(img)))
        return self.head(h.mean(dim=(2, 3)))


def get_model():
    return ConvStem(StemConfig()).eval()


def get_inputs():
    return (torch.rand(2, 3, 8, 8) * 0.4,)


def get_other_inputs():
    return (torch.rand(2, 3, 8, 8) * 0.4 + 0.6,)
