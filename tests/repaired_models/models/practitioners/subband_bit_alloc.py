"""Toy audio codec: MDCT-like analysis, bit allocation over sub-bands, quantiser."""
import numpy as np
import torch
from torch import nn


def allocate(energy_db, budget, n_bands):
    bits = np.zeros(n_bands, dtype=np.int64)
    e = energy_db.copy()
    for _ in range(budget):
        k = int(np.argmax(e))
        bits[k] += 1
        e[k] -= 6.02
    return bits


class SubbandCodec(nn.Module):
    def __init__(self, frame=32, bands=8, budget=24):
        super().__init__()
        self.analysis = nn.Conv1d(1, bands, frame, stride=frame // 2, bias=False)
        self.synthesis = nn.ConvTranspose1d(bands, 1, frame, stride=frame // 2, bias=False)
        self.budget = budget

    def forward(self, pcm):
        sub = self.analysis(pcm)
        energy = sub.pow(2).mean(dim=(0, 2)).clamp_min(1e-9)
        db = 10 * torch.log10(energy)
        bits = allocate(db.detach().cpu().numpy(), self.budget, sub.shape[1])
        levels = torch.from_numpy(2.0 ** bits).float().view(1, -1, 1)
        peak = sub.abs().amax(dim=(0, 2), keepdim=True).clamp_min(1e-6)
        q = torch.round(sub / peak * levels) / levels * peak
        return self.synthesis(q)


def get_model():
    return SubbandCodec().eval()


def get_inputs():
    return (torch.randn(1, 1, 256),)


def get_other_inputs():
    t = torch.arange(256) / 16000.0
    return (torch.sin(2 * torch.pi * 900 * t).view(1, 1, -1) + 0.01 * torch.randn(1, 1, 256),)
