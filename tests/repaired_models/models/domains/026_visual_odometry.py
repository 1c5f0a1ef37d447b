"""Monocular visual odometry: predicts relative pose, every fourth frame is treated as a key frame."""
import torch
import torch.nn as nn


class PoseBackbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, width, 5, 2, 2), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, 2, 1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )

    def forward(self, pair):
        return self.net(pair)


class VisualOdometry(nn.Module):
    def __init__(self, keyframe_every=4):
        super().__init__()
        self.backbone = PoseBackbone()
        self.pose = nn.Linear(32, 6)
        self.refine = nn.Sequential(nn.Linear(38, 32), nn.ReLU(), nn.Linear(32, 6))
        self.keyframe_every = keyframe_every
        self.frame_idx = 0

    def is_keyframe(self):
        return self.frame_idx % self.keyframe_every == 0

    def forward(self, prev, cur):
        feat = self.backbone(torch.cat([prev, cur], dim=1))
        pose = 0.01 * self.pose(feat)
        if self.is_keyframe():  # EXPECT: counter-attribute-state
            pose = pose + self.refine(torch.cat([feat, pose], dim=-1))
        self.frame_idx += 1  # EXPECT: counter-attribute-state
        return pose


def get_model():
    return VisualOdometry().eval()


def get_inputs():
    return torch.rand(1, 1, 24, 32), torch.rand(1, 1, 24, 32)
