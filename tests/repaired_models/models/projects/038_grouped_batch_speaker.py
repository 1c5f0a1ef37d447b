"""Speaker embedding with ghost-batch normalisation over pairs of utterances."""
import torch
import torch.nn as nn
from torch.export import Dim


class GhostNorm(nn.Module):
    def __init__(self, d, group=2):
        super().__init__()
        self.group = group
        self.gain, self.bias = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        n_groups = x.shape[0] // self.group
        chunks = torch.stack(x.chunk(n_groups, dim=0))  # EXPECT: dynamic-shape-specialised
        mu, var = chunks.mean((1, 2), keepdim=True), chunks.var((1, 2), keepdim=True)
        out = ((chunks - mu) / (var + 1e-5).sqrt()).flatten(0, 1)
        return out * self.gain + self.bias


class SpeakerNet(nn.Module):
    def __init__(self, n_mels=12, d=16):
        super().__init__()
        self.frame = nn.Linear(n_mels, d)
        self.norm = GhostNorm(d)
        self.emb = nn.Linear(2 * d, d)

    def forward(self, mel):
        h = torch.relu(self.norm(self.frame(mel)))
        stats = torch.cat([h.mean(1), h.std(1)], dim=-1)
        return nn.functional.normalize(self.emb(stats), dim=-1)


def get_model():
    return SpeakerNet().eval()


def get_inputs():
    return (torch.randn(4, 20, 12),)


def get_other_inputs():
    return (torch.randn(8, 20, 12),)


def get_dynamic_shapes():
    half = Dim("half", min=2, max=32)
    return {"mel": {0: 2 * half}}
