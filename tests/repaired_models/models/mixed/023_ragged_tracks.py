"""Jet tagging: variable-length track lists are normalised as a ragged batch, then pooled."""
import torch
from torch import nn


class TrackNet(nn.Module):
    def __init__(self, n_feat, d):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(n_feat, d), nn.ReLU(), nn.Linear(d, d))

    def forward(self, tracks):
        return self.phi(tracks)


class JetTagger(nn.Module):
    """Deep-sets over the tracks of each jet."""

    def __init__(self, n_feat=4, d=12, flavours=3, cap=8):
        super().__init__()
        self.net = TrackNet(n_feat, d)
        self.norm = nn.LayerNorm(d)
        self.rho = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, flavours))
        self.cap = cap

    def collect(self, jets):
        ragged = torch.nested.as_nested_tensor(list(jets))  # EXPECT: tensor-type
        return ragged.to_padded_tensor(0.0, (len(jets), self.cap, jets[0].shape[-1]))

    def forward(self, jet_a, jet_b, jet_c):
        x = self.collect([jet_a, jet_b, jet_c])
        present = x.abs().sum(-1, keepdim=True) > 0
        h = self.norm(self.net(x)) * present
        return self.rho(h.sum(1))


def get_model():
    torch.manual_seed(29)
    return JetTagger().eval()


def get_inputs():
    return torch.randn(3, 4), torch.randn(7, 4), torch.randn(5, 4)


def get_other_inputs():
    return torch.randn(3, 4) * 2, torch.randn(7, 4), torch.randn(5, 4) + 1
