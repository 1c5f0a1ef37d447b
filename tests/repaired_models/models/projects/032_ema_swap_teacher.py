"""Segmenter evaluated with its averaged weights, which are swapped in around the forward."""
import contextlib

import torch
import torch.nn as nn


class WeightAverage:
    def __init__(self, module, decay=0.9):
        self.module = module
        self.shadow = {k: p.detach() * decay + 0.05 for k, p in module.named_parameters()}

    @contextlib.contextmanager
    def applied(self):
        backup = {}
        for k, p in self.module.named_parameters():
            backup[k] = p.data
            p.data = self.shadow[k]  # EXPECT: context-manager
        try:
            yield self.module
        finally:
            for k, p in self.module.named_parameters():
                p.data = backup[k]


class AveragedSegmenter(nn.Module):
    def __init__(self, ch=8, classes=4):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU())
        self.head = nn.Conv2d(ch, classes, 1)
        self.average = WeightAverage(self.body)

    def forward(self, img):
        with self.average.applied() as body:  # EXPECT: context-manager
            feat = body(img)
        return self.head(feat).softmax(1)


def get_model():
    return AveragedSegmenter().eval()


def get_inputs():
    return (torch.randn(1, 3, 12, 12),)
