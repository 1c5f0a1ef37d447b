"""Neural audio codec bottleneck with reproducible dither before quantisation."""
import torch
import torch.nn as nn


class Quantizer(nn.Module):
    def __init__(self, levels=16, seed=1234):
        super().__init__()
        self.levels = levels
        self.seed = seed

    def dither(self, z):
        gen = torch.Generator(device=z.device)  # EXPECT: random-torch-state
        gen.manual_seed(self.seed)  # EXPECT: random-torch-state
        return torch.rand(z.shape, generator=gen) - 0.5  # EXPECT: random-torch-state

    def forward(self, z):
        step = 2.0 / (self.levels - 1)
        q = torch.round(z / step + self.dither(z)) * step
        return q.clamp(-1, 1)


class Codec(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv1d(1, ch, 8, stride=4, padding=2), nn.ELU(), nn.Conv1d(ch, 4, 3, padding=1))
        self.q = Quantizer()
        self.dec = nn.Sequential(nn.Conv1d(4, ch, 3, padding=1), nn.ELU(), nn.ConvTranspose1d(ch, 1, 8, stride=4, padding=2))

    def forward(self, wav):
        codes = self.q(torch.tanh(self.enc(wav)))
        return self.dec(codes), codes


def get_model():
    return Codec().eval()


def get_inputs():
    return (torch.randn(2, 1, 64),)
