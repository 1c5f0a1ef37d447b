"""Trajectory predictor for driving scenes; a scene object bundles agents, lanes and masks."""
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Scene:
    agents: torch.Tensor
    lanes: torch.Tensor
    lane_mask: torch.Tensor


class PolylineEncoder(nn.Module):
    def __init__(self, cin, dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(cin, dim), nn.LayerNorm(dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, pts):
        return self.mlp(pts).amax(dim=-2)


class TrajectoryPredictor(nn.Module):
    def __init__(self, dim=32, modes=3, horizon=10):
        super().__init__()
        self.agent_enc = PolylineEncoder(4, dim)
        self.lane_enc = PolylineEncoder(3, dim)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.traj = nn.Linear(dim, modes * horizon * 2)
        self.conf = nn.Linear(dim, modes)
        self.modes, self.horizon = modes, horizon

    def forward(self, scene: Scene):  # EXPECT: dataclass-argument
        a = self.agent_enc(scene.agents)
        l = self.lane_enc(scene.lanes)
        ctx, _ = self.attn(a, l, l, key_padding_mask=scene.lane_mask)
        h = a + ctx
        traj = self.traj(h).unflatten(-1, (self.modes, self.horizon, 2))
        return traj.cumsum(dim=-2), self.conf(h).softmax(-1)


def get_model():
    return TrajectoryPredictor().eval()


def get_inputs():
    mask = torch.rand(2, 6) > 0.7
    mask[:, 0] = False
    return (Scene(torch.randn(2, 4, 8, 4), torch.randn(2, 6, 10, 3), mask),)
