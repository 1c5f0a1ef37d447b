"""Gesture recogniser over a sliding window of the last hand-pose frames."""
from collections import deque

import torch
import torch.nn as nn


class PoseEmbed(nn.Module):
    def __init__(self, joints, d):
        super().__init__()
        self.lin = nn.Linear(joints * 2, d)
        self.ln = nn.LayerNorm(d)

    def forward(self, pose):
        centred = pose - pose[:, :1]
        return self.ln(self.lin(centred.flatten(1)))


class GestureStream(nn.Module):
    window = 4

    def __init__(self, joints=7, d=16, gestures=5):
        super().__init__()
        self.embed = PoseEmbed(joints, d)
        self.frames = deque([torch.zeros(1, d)] * self.window, maxlen=self.window)
        self.temporal = nn.GRU(d, d, batch_first=True)
        self.cls = nn.Linear(d, gestures)

    def push(self, e):
        self.frames.append(e.detach())  # EXPECT: mutable-module-state
        return torch.stack(tuple(self.frames), dim=1)

    def forward(self, pose):
        seq = self.push(self.embed(pose))
        out, _ = self.temporal(seq)
        return self.cls(out[:, -1])


def get_model():
    return GestureStream().eval()


def get_inputs():
    return (torch.randn(1, 7, 2),)
