"""Image restorer whose skip branch is faded in by a forward hook, a little more at every call."""
import torch
from torch import nn


class FadeIn:
    def __init__(self, steps):
        self.steps, self.seen = steps, 0

    def __call__(self, module, args, out):
        self.seen += 1  # EXPECT: counting-hook
        return out * min(self.seen / self.steps, 1.0)


class Restorer(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1)
        self.detail = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 3, 3, padding=1))
        self.out = nn.Conv2d(width, 3, 1)
        self.detail.register_forward_hook(FadeIn(steps=6))

    def forward(self, img):
        h = torch.relu(self.stem(img))
        return (self.out(h) + self.detail(h)).clamp(-1, 1)


def get_model():
    return Restorer().eval()


def get_inputs():
    return (torch.rand(1, 3, 10, 10),)


def get_other_inputs():
    return (torch.rand(1, 3, 10, 10) - 0.5,)
