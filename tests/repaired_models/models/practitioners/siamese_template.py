import torch
import torch.nn.functional as F
from torch import nn


class SiamTracker(nn.Module):
    """First frame gives the template, later frames are correlated with it."""

    def __init__(self, c=4):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(3, c, 3, padding=1), nn.ReLU())
        self.memo = {}

    def crop(self, f):
        h, w = f.shape[-2:]
        return f[:, :, h // 2 - 2:h // 2 + 2, w // 2 - 2:w // 2 + 2]

    def forward(self, frame):
        f = self.net(frame)
        if "template" not in self.memo:
            self.memo["template"] = self.crop(f)
        response = F.conv2d(f, self.memo["template"], padding=2)
        return response.flatten(1).softmax(-1)


def get_model():
    return SiamTracker().eval()


def get_inputs():
    return (torch.rand(1, 3, 12, 12),)


def get_other_inputs():
    return (torch.rand(1, 3, 12, 12) * 3 - 1,)
