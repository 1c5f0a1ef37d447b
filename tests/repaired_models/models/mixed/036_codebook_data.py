"""VQ bottleneck for ECG beats with a running codebook usage vector."""
import torch
from torch import nn


class VectorQuantiser(nn.Module):
    def __init__(self, codes, dim, decay=0.8):
        super().__init__()
        self.codebook = nn.Parameter(torch.randn(codes, dim))
        self.register_buffer("usage", torch.ones(codes) / codes)
        self.decay = decay

    def forward(self, z):
        bias = 0.5 * torch.log(self.usage + 1e-3)
        d = torch.cdist(z, self.codebook) + bias
        idx = d.argmin(-1)
        hist = torch.nn.functional.one_hot(idx.flatten(), self.usage.numel()).float().mean(0)
        self.usage.data = self.decay * self.usage + (1 - self.decay) * hist  # EXPECT: tensor-data-write
        return self.codebook[idx], idx


class BeatVQ(nn.Module):
    def __init__(self, samples=32, dim=6, codes=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(samples, 24), nn.ReLU(), nn.Linear(24, dim))
        self.vq = VectorQuantiser(codes, dim)
        self.dec = nn.Sequential(nn.Linear(dim, 24), nn.ReLU(), nn.Linear(24, samples))

    def forward(self, beats):
        q, idx = self.vq(self.enc(beats))
        return self.dec(q), idx


def get_model():
    torch.manual_seed(44)
    return BeatVQ().eval()


def get_inputs():
    return (torch.randn(3, 4, 32),)


def get_other_inputs():
    return (torch.randn(3, 4, 32) * 3,)
