"""Cascade regressor for landmarks: every call rotates which refinement stage goes first."""
import torch
import torch.nn as nn


class Refiner(nn.Module):
    def __init__(self, n_pts, d_feat):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_pts * 2 + d_feat, 24), nn.ReLU(), nn.Linear(24, n_pts * 2))

    def forward(self, pts, feat):
        delta = self.net(torch.cat([pts.flatten(1), feat], dim=1))
        return pts + 0.1 * delta.view_as(pts)


class LandmarkCascade(nn.Module):
    def __init__(self, n_pts=5, d_feat=12, stages=3):
        super().__init__()
        self.n_pts = n_pts
        self.backbone = nn.Sequential(nn.Conv2d(1, d_feat, 5, stride=3), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten())
        self.mean_shape = nn.Parameter(torch.rand(n_pts, 2))
        self.stages = nn.ModuleList(Refiner(n_pts, d_feat) for _ in range(stages))

    def _rotate(self):
        first, *rest = list(self.stages)
        self.stages = nn.ModuleList([*rest, first])  # EXPECT: module-mutation

    def forward(self, face):
        feat = self.backbone(face)
        pts = self.mean_shape.expand(face.shape[0], -1, -1)
        for stage in self.stages:
            pts = torch.tanh(stage(pts, feat))
        self._rotate()
        return pts


def get_model():
    return LandmarkCascade().eval()


def get_inputs():
    return (torch.randn(2, 1, 20, 20),)
