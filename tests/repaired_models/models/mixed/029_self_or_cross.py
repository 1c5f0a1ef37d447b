"""Relational attention between two object sets; self-relations of one set are masked out."""
import torch
from torch import nn


class RelationLayer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.scale = d ** -0.5

    def forward(self, a, b):
        logits = self.q(a) @ self.k(b).transpose(-1, -2) * self.scale
        if a is b:  # EXPECT: python-object-identity
            eye = torch.eye(a.size(-2), dtype=torch.bool)
            logits = logits.masked_fill(eye, -1e4)
        return logits.softmax(-1) @ self.v(b)


class RelationNet(nn.Module):
    def __init__(self, feat=6, d=12, answers=4):
        super().__init__()
        self.lift = nn.Linear(feat, d)
        self.rel = RelationLayer(d)
        self.post = nn.Sequential(nn.Linear(d, d), nn.GELU(), nn.Linear(d, answers))

    def forward(self, scene, memory):
        q = self.lift(scene)
        kv = q if memory is scene else self.lift(memory)  # EXPECT: python-object-identity
        return self.post((q + self.rel(q, kv)).mean(1))


def get_model():
    torch.manual_seed(37)
    return RelationNet().eval()


def get_inputs():
    return torch.randn(2, 5, 6), torch.randn(2, 5, 6)


def get_other_inputs():
    scene = torch.randn(2, 5, 6)
    return scene, scene
