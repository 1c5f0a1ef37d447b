import torch
from torch import nn


def iou(a, bs):
    lt = torch.maximum(a[:2], bs[:, :2])
    rb = torch.minimum(a[2:], bs[:, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    area = lambda b: (b[..., 2] - b[..., 0]).clamp(min=0) * (b[..., 3] - b[..., 1]).clamp(min=0)
    return inter / (area(a) + area(bs) - inter + 1e-6)


class AnchorFreeDetector(nn.Module):
    def __init__(self, c=6, size=4, thr=0.3):
        super().__init__()
        self.score = nn.Conv2d(c, 1, 1)
        self.ltrb = nn.Conv2d(c, 4, 1)
        g = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij"), -1)
        self.register_buffer("centres", g.reshape(-1, 2).float())
        self.thr = thr

    def forward(self, fmap):
        s = self.score(fmap).flatten().sigmoid()
        d = self.ltrb(fmap).flatten(2)[0].t().exp()
        boxes = torch.cat([self.centres - d[:, :2], self.centres + d[:, 2:]], dim=1)
        order = s.argsort(descending=True)
        picked = []
        while len(order):
            top, rest = order[0], order[1:]
            picked.append(top)
            order = rest[iou(boxes[top], boxes[rest]) <= self.thr]
        keep = torch.stack(picked)
        return boxes[keep], s[keep]


def get_model():
    return AnchorFreeDetector().eval()


def get_inputs():
    return (torch.randn(1, 6, 4, 4),)


def get_other_inputs():
    return (torch.randn(1, 6, 4, 4) * 3 - 2,)
