# super resolution; sharper path is switched off for "deployment"
import torch
import torch.nn.functional as F
from torch import nn


class SharpUpsampler(nn.Module):
    def __init__(self, c=6, scale=2):
        super().__init__()
        self.body = nn.Conv2d(1, c, 3, padding=1)
        self.shuffle = nn.Conv2d(c, scale * scale, 3, padding=1)
        self.scale = scale

    def _sharpen(self, y):
        blur = F.avg_pool2d(y, 3, stride=1, padding=1)
        return y + 0.5 * (y - blur)

    def forward(self, lr):
        y = F.pixel_shuffle(self.shuffle(F.relu(self.body(lr))), self.scale)
        y = y + F.interpolate(lr, scale_factor=self.scale, mode="nearest")
        if torch.compiler.is_compiling():
            return y
        return self._sharpen(y)


def get_model():
    return SharpUpsampler().eval()


def get_inputs():
    return (torch.rand(1, 1, 8, 8),)


def get_other_inputs():
    return (torch.rand(1, 1, 8, 8) * 5,)
