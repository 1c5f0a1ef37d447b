"""Stereo disparity by soft-argmin over a correlation volume; result as an attrs-like object."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class StereoResult:
    __slots__ = ("disparity", "confidence")

    def __init__(self, disparity, confidence):
        self.disparity = disparity
        self.confidence = confidence


class Siamese(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.c1 = nn.Conv2d(3, ch, 3, padding=1)
        self.c2 = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        return F.normalize(self.c2(F.relu(self.c1(x))), dim=1)


class StereoNet(nn.Module):
    def __init__(self, ch=8, max_disp=5):
        super().__init__()
        self.features = Siamese(ch)
        self.max_disp = max_disp
        self.register_buffer("levels", torch.arange(max_disp).float().view(1, -1, 1, 1))
        self.temp = nn.Parameter(torch.tensor(6.0))

    def volume(self, left, right):
        rows = [(left * torch.roll(right, d, dims=-1)).sum(1) for d in range(self.max_disp)]
        return torch.stack(rows, dim=1)

    def forward(self, left, right):
        vol = self.volume(self.features(left), self.features(right))
        prob = torch.softmax(vol * self.temp, dim=1)
        disp = (prob * self.levels).sum(1)
        return StereoResult(disparity=disp, confidence=prob.amax(1))  # EXPECT: pytree-io


def get_model():
    torch.manual_seed(23)
    return StereoNet().eval()


def get_inputs():
    return torch.rand(1, 3, 10, 14), torch.rand(1, 3, 10, 14)
