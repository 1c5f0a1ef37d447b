"""Lesion segmenter for CT slices that also reports volume and mean probability as a small record."""
from dataclasses import dataclass
import torch
from torch import nn


@dataclass
class LesionReport:
    mask: torch.Tensor
    volume_ml: torch.Tensor
    confidence: torch.Tensor

    @classmethod
    def from_logits(cls, logits, spacing):
        p = logits.sigmoid()
        m = p > 0.5
        vol = m.sum((1, 2, 3)) * spacing / 1000
        conf = (p * m).sum((1, 2, 3)) / m.sum((1, 2, 3)).clamp(min=1)
        return cls(mask=m, volume_ml=vol, confidence=conf)


class SliceSegmenter(nn.Module):
    spacing = 0.7 * 0.7 * 5.0

    def __init__(self, width=8):
        super().__init__()
        self.down = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.up = nn.ConvTranspose2d(width, 1, 2, stride=2)

    def forward(self, ct):
        h = torch.relu(self.down(ct))
        h = torch.relu(self.mid(h)) + h
        return LesionReport.from_logits(self.up(h), self.spacing)  # EXPECT: unregistered-output-class


def get_model():
    return SliceSegmenter().eval()


def get_inputs():
    return (torch.randn(2, 1, 16, 16),)
