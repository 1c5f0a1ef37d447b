"""Gesture recognition on a radar stream with a short memory of frame embeddings."""
from collections import deque

import torch
import torch.nn as nn


class RangeDopplerNet(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU()
        )
        self.fc = nn.Linear(16 * 4 * 4, dim)

    def forward(self, frame):
        return torch.relu(self.fc(self.conv(frame).flatten(1)))


class GestureStream(nn.Module):
    def __init__(self, dim=24, memory=5, n_gestures=6):
        super().__init__()
        self.frame_net = RangeDopplerNet(dim)
        self.mixer = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.cls = nn.Linear(dim, n_gestures)
        self.recent = deque(maxlen=memory)

    def reset(self):
        self.recent.clear()

    def forward(self, frame):
        z = self.frame_net(frame)
        self.recent.append(z)  # EXPECT: deque-state-over-calls
        mem = torch.stack(list(self.recent), dim=1)  # EXPECT: deque-state-over-calls
        ctx, _ = self.mixer(z.unsqueeze(1), mem, mem)
        return self.cls(ctx.squeeze(1)).softmax(-1)


def get_model():
    return GestureStream().eval()


def get_inputs():
    return (torch.randn(1, 1, 16, 16),)
