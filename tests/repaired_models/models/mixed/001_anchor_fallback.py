"""Single-stage detector: class scores and box deltas on a fixed anchor grid, pooled to one scene box."""
import torch
from torch import nn
import torch.nn.functional as F


class ConvBnAct(nn.Sequential):
    def __init__(self, cin, cout, stride=1):
        super().__init__(
            nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.SiLU(),
        )


class SceneBox(nn.Module):
    """Weighted average of the confident boxes; all boxes vote when nothing is confident."""

    def __init__(self, thr):
        super().__init__()
        self.thr = thr

    def forward(self, boxes, logits):
        scores = logits.softmax(-1)[..., 1:].amax(-1)
        confident = scores > self.thr
        if confident.any():  # EXPECT: data-dependent-branch
            votes = scores * confident
        else:
            votes = F.softmax(scores, dim=-1)
        total = votes.sum(-1, keepdim=True).clamp(min=1e-6)
        return (boxes * votes.unsqueeze(-1)).sum(1) / total


class TinyDetector(nn.Module):
    def __init__(self, num_classes=3, width=16, grid=4):
        super().__init__()
        self.stem = nn.Sequential(ConvBnAct(3, width, 2), ConvBnAct(width, width, 2))
        self.cls = nn.Conv2d(width, num_classes + 1, 1)
        self.reg = nn.Conv2d(width, 4, 1)
        ys, xs = torch.meshgrid(torch.arange(grid), torch.arange(grid), indexing="ij")
        centers = torch.stack([xs, ys, xs + 1, ys + 1], -1).float().reshape(1, -1, 4)
        self.register_buffer("anchors", centers * 4.0)
        self.scene = SceneBox(thr=0.5)

    def forward(self, image):
        feat = self.stem(image)
        logits = self.cls(feat).flatten(2).transpose(1, 2) * 4.0
        boxes = self.anchors + self.reg(feat).flatten(2).transpose(1, 2)
        return {"box": self.scene(boxes, logits), "logits": logits}


def get_model():
    torch.manual_seed(1)
    return TinyDetector().eval()


def get_inputs():
    return (torch.zeros(2, 3, 16, 16),)


def get_other_inputs():
    return (torch.randn(2, 3, 16, 16) * 9.0,)
