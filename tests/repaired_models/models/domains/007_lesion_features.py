"""Lesion characterisation: mean-pools decoder features inside every lesion label and scores malignancy."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.c1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.c2 = nn.Conv2d(cout, cout, 3, padding=1)
        self.norm = nn.InstanceNorm2d(cout, affine=True)

    def forward(self, x):
        return F.leaky_relu(self.norm(self.c2(F.leaky_relu(self.c1(x)))))


class LesionScorer(nn.Module):
    BACKGROUND = 0

    def __init__(self, width=16):
        super().__init__()
        self.enc = ConvBlock(1, width)
        self.dec = ConvBlock(width, width)
        self.malignancy = nn.Sequential(nn.Linear(width + 1, 16), nn.ReLU(), nn.Linear(16, 1))

    def describe(self, feats, region):
        area = region.sum()
        mean = (feats * region).flatten(1).sum(1) / area
        return torch.cat([mean, torch.log1p(area).reshape(1)])

    def forward(self, scan, labels):
        feats = self.dec(self.enc(scan))[0]
        rows = []
        for lab in torch.unique(labels):  # EXPECT: iteration-over-unique
            rows.append(self.describe(feats, (labels[0] == lab).to(feats.dtype)))
        return self.malignancy(torch.stack(rows)).sigmoid()


def get_model():
    return LesionScorer().eval()


def get_inputs():
    return torch.randn(1, 1, 24, 24), torch.randint(0, 4, (1, 24, 24))


def get_other_inputs():
    return torch.randn(1, 1, 24, 24), torch.randint(0, 2, (1, 24, 24))
