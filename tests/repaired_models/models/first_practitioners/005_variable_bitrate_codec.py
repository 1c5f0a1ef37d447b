"""Residual vector quantiser of an audio codec; the bandwidth request says how many stages run."""
import math
import torch
from torch import nn


class Stage(nn.Module):
    def __init__(self, size, dim):
        super().__init__()
        self.codebook = nn.Parameter(torch.randn(size, dim))

    def forward(self, r):
        d = torch.cdist(r, self.codebook)
        code = d.argmin(-1)
        return self.codebook[code], code


class ResidualQuantizer(nn.Module):
    frame_rate = 75

    def __init__(self, stages=6, size=32, dim=8):
        super().__init__()
        self.stages = nn.ModuleList(Stage(size, dim) for _ in range(stages))
        self.bits_per_stage = math.log2(size) * self.frame_rate

    def stages_for(self, kbps):
        n = int(kbps.item() * 1000 // self.bits_per_stage)  # EXPECT: item-decides-loop-length
        return min(max(n, 1), len(self.stages))

    def forward(self, z, kbps):
        residual, out = z, torch.zeros_like(z)
        codes = torch.full((len(self.stages), *z.shape[:-1]), -1)
        for i, stage in enumerate(self.stages[: self.stages_for(kbps)]):
            q, code = stage(residual)
            residual = residual - q
            out = out + q
            codes[i] = code
        return out, codes


def get_model():
    return ResidualQuantizer().eval()


def get_inputs():
    return torch.randn(2, 10, 8), torch.tensor(1.0)


def get_other_inputs():
    return torch.randn(2, 10, 8), torch.tensor(1.9)
