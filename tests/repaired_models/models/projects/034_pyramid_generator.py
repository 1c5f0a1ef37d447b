"""Feature pyramid detector, one objectness and box map per level."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class FPN(nn.Module):
    def __init__(self, chans, d):
        super().__init__()
        self.lateral = nn.ModuleList(nn.Conv2d(c, d, 1) for c in chans)

    def forward(self, maps):
        top = None
        outs = []
        for lat, m in reversed(list(zip(self.lateral, maps))):
            cur = lat(m)
            top = cur if top is None else cur + F.interpolate(top, scale_factor=2)
            outs.append(top)
        return outs[::-1]


class PyramidDetector(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        chans = (6, 10, 14)
        downs, cin = [], 3
        for c in chans:
            downs.append(nn.Sequential(nn.Conv2d(cin, c, 3, stride=2, padding=1), nn.ReLU()))
            cin = c
        self.downs = nn.ModuleList(downs)
        self.fpn = FPN(chans, d)
        self.obj, self.box = nn.Conv2d(d, 1, 3, padding=1), nn.Conv2d(d, 4, 3, padding=1)

    def _levels(self, img):
        maps = []
        for down in self.downs:
            img = down(img)
            maps.append(img)
        for level, feat in enumerate(self.fpn(maps)):
            yield self.obj(feat).sigmoid(), self.box(feat).exp() * 2 ** level  # EXPECT: generators

    def forward(self, img):
        return self._levels(img)  # EXPECT: generators


def get_model():
    return PyramidDetector().eval()


def get_inputs():
    return (torch.randn(1, 3, 32, 32),)
