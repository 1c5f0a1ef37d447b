"""Hearing aid: small processing blocks on one frame."""
import torch
from torch import nn, cond

limiter_calls = {"count": 0}


class NoiseGate(nn.Module):
    def forward(self, frame):
        level = frame.abs().mean(dim=-1)
        return cond(level > 0.1, lambda f: f * 1.0, lambda f: f * 0.1, (frame,))


class WindReducer(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = nn.Conv1d(1, 1, 5, padding=2)

    def calm(self, f):
        return f * 1.0

    def windy(self, f):
        return (f - self.low(f.unsqueeze(1)).squeeze(1)).double()

    def forward(self, frame):
        return cond(frame.var() > 2.0, self.windy, self.calm, (frame,))


class BandPicker(nn.Module):
    def forward(self, frame):
        def speech(f, bands):
            return (f * bands)[:, 2:10].cos()

        def music(f):
            return f.sin()

        return cond(frame.std() > 0.5, music, speech, (frame, torch.ones(16)))


class Compressor(nn.Module):
    def forward(self, frame):
        def squeeze(f):
            f.clamp_(-0.8, 0.8)
            return f * 1.1

        return cond(frame.max() > 0.8, squeeze, lambda f: f * 1.0, (frame,))


class Limiter(nn.Module):
    def forward(self, frame):
        def limit(f):
            limiter_calls["count"] += 1
            return f.tanh()

        return cond(frame.sum() > 3.0, limit, lambda f: f + 0.0, (frame,))


class Volume(nn.Module):
    def forward(self, frame, preset="quiet"):
        return cond(frame.mean() > 0, lambda f, p: f * 0.5, lambda f, p: f * 2, (frame, preset))


class HearingAid(nn.Module):
    def __init__(self):
        super().__init__()
        kinds = (NoiseGate, WindReducer, BandPicker, Compressor, Limiter, Volume)
        self.blocks = nn.ModuleList(kind() for kind in kinds)

    def forward(self, frame):
        return [block(frame) for block in self.blocks]


def get_model():
    torch.manual_seed(41)
    return HearingAid().eval()


def get_inputs():
    return (torch.randn(2, 16, generator=torch.Generator().manual_seed(42)),)
