"""Multi-object tracker head returning a typed result."""
from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class TrackResult:
    boxes: torch.Tensor
    ids: torch.Tensor
    affinity: torch.Tensor

    @classmethod
    def from_affinity(cls, boxes, aff):
        return cls(boxes=boxes, ids=aff.argmax(-1), affinity=aff)  # EXPECT: pytree-io


class AffinityHead(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, det, trk):
        return torch.softmax(self.q(det) @ self.k(trk).transpose(-1, -2), dim=-1)


class Tracker(nn.Module):
    def __init__(self, d_app=12, d=16):
        super().__init__()
        self.app = nn.Linear(d_app, d)
        self.geo = nn.Linear(4, d)
        self.aff = AffinityHead(d)
        self.refine = nn.Linear(d, 4)

    def embed(self, app, box):
        return torch.relu(self.app(app) + self.geo(box))

    def forward(self, det_app, det_box, trk_app, trk_box) -> TrackResult:
        det, trk = self.embed(det_app, det_box), self.embed(trk_app, trk_box)
        boxes = det_box + 0.1 * self.refine(det)
        return TrackResult.from_affinity(boxes, self.aff(det, trk))  # EXPECT: pytree-io


def get_model():
    return Tracker().eval()


def get_inputs():
    return torch.randn(1, 5, 12), torch.rand(1, 5, 4), torch.randn(1, 4, 12), torch.rand(1, 4, 4)
