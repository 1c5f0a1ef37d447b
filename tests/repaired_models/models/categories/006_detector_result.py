"""Tiny detector with a result object."""
from dataclasses import dataclass
import torch
import torch.nn as nn


@dataclass
class Detection:
    boxes: torch.Tensor
    scores: torch.Tensor


class Detector(nn.Module):
    def __init__(self, ch=3, anchors=2):
        super().__init__()
        self.anchors = anchors
        self.stem = nn.Conv2d(ch, 6, 3, stride=2, padding=1)
        self.box = nn.Conv2d(6, 4 * anchors, 1)
        self.obj = nn.Conv2d(6, anchors, 1)

    def forward(self, img):
        f = torch.relu(self.stem(img))
        boxes = self.box(f).flatten(2).transpose(1, 2).reshape(img.shape[0], -1, 4)
        scores = self.obj(f).flatten(1).sigmoid()
        return Detection(boxes=boxes, scores=scores)  # EXPECT: pytree-io


def get_model():
    return Detector().eval()


def get_inputs():
    return (torch.randn(1, 3, 8, 8),)
