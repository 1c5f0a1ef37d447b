"""Terrain-conditioned locomotion policy, one gait expert per predicted terrain class."""
from collections import OrderedDict

import torch
import torch.nn as nn


def mlp(*sizes):
    layers = OrderedDict()
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers[f"fc{i}"] = nn.Linear(a, b)
        if i < len(sizes) - 2:
            layers[f"act{i}"] = nn.ELU()
    return nn.Sequential(layers)


class TerrainNet(nn.Module):
    def __init__(self, n_scan, n_terrains):
        super().__init__()
        self.net = mlp(n_scan, 24, n_terrains)

    def forward(self, scan):
        return self.net(scan).argmax(dim=-1)


class GaitPolicy(nn.Module):
    def __init__(self, n_scan=11, n_prop=14, n_act=8, n_terrains=4):
        super().__init__()
        self.terrain = TerrainNet(n_scan, n_terrains)
        self.experts = nn.ModuleList([mlp(n_prop, 32, n_act) for _ in range(n_terrains)])
        self.default_pose = nn.Parameter(torch.zeros(n_act))

    @property
    def action_scale(self):
        return 0.25

    def forward(self, scan, prop):
        terrain = self.terrain(scan)
        actions = []
        for k, obs in zip(terrain, prop):
            expert = self.experts[k]  # EXPECT: tensor-to-python
            actions.append(self.default_pose + self.action_scale * expert(obs).tanh())
        return torch.stack(actions), terrain


def get_model():
    return GaitPolicy().eval()


def get_inputs():
    return torch.randn(3, 11) * 4, torch.randn(3, 14)


def get_other_inputs():
    return torch.randn(3, 11) * 4 + 3.0, torch.randn(3, 14)
