from collections import deque

import torch
from torch import nn


class GazeTracker(nn.Module):
    """Gaze regression with a moving average over the last frames."""

    def __init__(self, feat=6, window=3):
        super().__init__()
        self.reg = nn.Sequential(nn.Linear(feat, 12), nn.ReLU(), nn.Linear(12, 2))
        self.recent = deque(maxlen=window)

    def forward(self, eyes):
        gaze = self.reg(eyes)
        self.recent.append(gaze)
        smooth = torch.stack(list(self.recent)).mean(0)
        return smooth, (gaze - smooth).norm(dim=-1)


def get_model():
    return GazeTracker().eval()


def get_inputs():
    return (torch.randn(1, 6),)


def get_other_inputs():
    return (torch.randn(1, 6) * 4 + 1,)
