"""A detector: a picture in, the 8 best boxes out, of which those that overlap a better one have the score 0.

Three convolutions, one box for each of 8 x 8 cells. Suppression goes over the boxes by their rank, with masks in the
place of lists, so that nothing depends on how many boxes are left.
"""

import torch
from torch import nn

KEPT, OVERLAP = 8, 0.3


def overlaps(boxes):
    """Intersection over union of every pair."""
    low = torch.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    both = (high - low).clamp(min=0).prod(-1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    return both / (area[:, None] + area[None, :] - both)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, stride=2, padding=1), nn.ReLU()
        )
        self.head = nn.Conv2d(16, 5, 1)
        y, x = torch.meshgrid(torch.arange(8.0), torch.arange(8.0), indexing="ij")
        self.register_buffer("centres", torch.stack([x, y], -1).reshape(64, 2) * 4 + 2)

    def forward(self, picture):
        found = self.head(self.features(picture))[0].reshape(5, 64).T
        scores, order = torch.topk(torch.sigmoid(found[:, 0]), KEPT)
        sizes = torch.exp(found[:, 3:]) * 6
        centres = self.centres + found[:, 1:3]
        boxes = torch.cat([centres - sizes / 2, centres + sizes / 2], 1)[order]
        covered = overlaps(boxes) > OVERLAP
        keep = torch.ones(KEPT, dtype=torch.bool)
        for rank in range(KEPT):
            worse = torch.arange(KEPT) > rank
            keep = keep & ~(covered[rank] & worse & keep[rank])
        return boxes, scores * keep


torch.manual_seed(0)
model = Detector().eval()
example_args = (torch.randn(1, 3, 32, 32),)
