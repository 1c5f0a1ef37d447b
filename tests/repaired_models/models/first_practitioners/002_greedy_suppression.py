"""Single-class box head that keeps the best non-overlapping anchors of one image."""
import torch
from torch import nn


def pairwise_iou(a, b):
    lt = torch.maximum(a[:, None, :2], b[None, :, :2])
    rb = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    area = lambda t: (t[:, 2:] - t[:, :2]).prod(-1)
    return inter / (area(a)[:, None] + area(b)[None] - inter + 1e-6)


class BoxHead(nn.Module):
    def __init__(self, channels=16, iou=0.3, floor=0.35):
        super().__init__()
        self.score = nn.Linear(channels, 1)
        self.size = nn.Linear(channels, 2)
        self.iou, self.floor = iou, floor

    def suppress(self, boxes, scores):
        keep = torch.zeros_like(scores, dtype=torch.bool)
        alive = scores > self.floor
        overlap = pairwise_iou(boxes, boxes)
        while alive.any():  # EXPECT: while-on-data
            best = torch.where(alive, scores, scores.new_full((), -1.0)).argmax()
            keep = keep | (torch.arange(len(scores)) == best)
            alive = alive & ~(overlap[best] > self.iou) & ~keep
        return keep

    def forward(self, feats, centers):
        scores = self.score(feats).squeeze(-1).sigmoid()
        wh = self.size(feats).sigmoid() * 0.4 + 0.05
        boxes = torch.cat([centers - wh / 2, centers + wh / 2], -1)
        keep = self.suppress(boxes, scores)
        return boxes * keep[:, None], scores * keep


def get_model():
    return BoxHead().eval()


def get_inputs():
    return torch.randn(24, 16), torch.rand(24, 2)


def get_other_inputs():
    return torch.randn(24, 16), torch.rand(24, 2) * 0.2
