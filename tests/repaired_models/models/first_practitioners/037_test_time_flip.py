"""Plankton classifier with stochastic test-time augmentation of the microscope image."""
import random
from typing import Callable
import torch
from torch import nn

AUGMENTATIONS: dict[str, Callable] = {
    "none": lambda x: x,
    "mirror": lambda x: x.flip(-1),
    "turn": lambda x: x.rot90(1, (-2, -1)),
    "dim": lambda x: 0.7 * x,
}


class PlanktonNet(nn.Module):
    def __init__(self, views=3, classes=9):
        super().__init__()
        self.views = views
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 5, stride=2), nn.ELU(), nn.Conv2d(12, 16, 3, stride=2), nn.ELU(), nn.Flatten(), nn.Linear(16 * 9, classes)
        )

    def draw(self):
        return random.choices(list(AUGMENTATIONS), k=self.views)  # EXPECT: python-random

    def forward(self, img):
        logits = [self.body(AUGMENTATIONS[name](img)) for name in self.draw()]
        return torch.stack(logits).softmax(-1).mean(0)


def get_model():
    return PlanktonNet().eval()


def get_inputs():
    return (torch.rand(2, 1, 17, 17),)
