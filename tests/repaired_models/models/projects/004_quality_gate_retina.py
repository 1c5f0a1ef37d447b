"""Retina grading network with an image-quality gate in front of the classifier."""
import functools

import torch
import torch.nn as nn

GATES = {}


def gate(name):
    def deco(fn):
        GATES[name] = fn
        return fn
    return deco


@gate("exposure")
def _exposure(img, lo, hi):
    m = img.mean()
    return lo <= m <= hi  # EXPECT: data-dependent-branch


@gate("contrast")
def _contrast(img, lo, hi):
    s = img.std()
    return s.clamp(lo, hi)


class QualityAwareGrader(nn.Module):
    def __init__(self, grades=5, lo=-0.2, hi=0.2):
        super().__init__()
        self.exposure_ok = functools.partial(GATES["exposure"], lo=lo, hi=hi)
        self.contrast = functools.partial(GATES["contrast"], lo=0.1, hi=4.0)
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )
        self.relight = nn.Conv2d(3, 3, 1)
        self.head = nn.Linear(64, grades)

    def forward(self, img):
        img = img / self.contrast(img)
        if not self.exposure_ok(img):  # EXPECT: data-dependent-branch
            img = img + self.relight(img - img.mean(dim=(2, 3), keepdim=True))
        return self.head(self.backbone(img))


def get_model():
    return QualityAwareGrader().eval()


def get_inputs():
    return (torch.randn(2, 3, 32, 32),)


def get_other_inputs():
    return (torch.randn(2, 3, 32, 32) + 1.5,)
