"""Motion segmentation for a fixed camera: the background is the mean of the most recent frames."""
from collections import deque
import torch
from torch import nn


class MotionSegmenter(nn.Module):
    def __init__(self, memory=3, width=8):
        super().__init__()
        self.recent = deque(maxlen=memory)
        self.head = nn.Sequential(
            nn.Conv2d(6, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 1, 1)
        )

    def background(self, frame):
        self.recent.append(frame)  # EXPECT: kept-frames
        return torch.stack(list(self.recent)).mean(0)

    def forward(self, frame):
        bg = self.background(frame)
        diff = (frame - bg).abs()
        return self.head(torch.cat([frame, diff], 1)).sigmoid()


def get_model():
    return MotionSegmenter().eval()


def get_inputs():
    return (torch.rand(1, 3, 12, 12),)


def get_other_inputs():
    return (torch.rand(1, 3, 12, 12) * 0.5,)
