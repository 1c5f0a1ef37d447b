"""Forecaster that folds the history by its dominant period and convolves in 2D."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def dominant_period(x):
    """x: [B, T, C] -> length of the strongest cycle over the batch"""
    amp = torch.fft.rfft(x, dim=1).abs().mean(dim=(0, 2))
    amp[0] = 0
    freq = amp.argmax().item()  # EXPECT: data-dependent-shape
    return x.shape[1] // freq


class FoldBlock(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(d, d, 3, padding=1), nn.GELU(), nn.Conv2d(d, d, 3, padding=1))

    def forward(self, x):
        b, t, d = x.shape
        period = dominant_period(x)
        if t % period != 0:  # EXPECT: data-dependent-shape
            full = (t // period + 1) * period
            folded = F.pad(x, (0, 0, 0, full - t))
        else:
            full, folded = t, x
        folded = folded.reshape(b, full // period, period, d)  # EXPECT: data-dependent-shape
        out = self.conv(folded.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        return x + out.reshape(b, -1, d)[:, :t]


class PeriodForecaster(nn.Module):
    def __init__(self, channels=3, d=8, history=28, horizon=6, layers=2):
        super().__init__()
        self.embed = nn.Linear(channels, d)
        self.blocks = nn.ModuleList(FoldBlock(d) for _ in range(layers))
        self.norm = nn.LayerNorm(d)
        self.extend = nn.Linear(history, horizon)
        self.project = nn.Linear(d, channels)

    def forward(self, hist):
        mu = hist.mean(1, keepdim=True)
        z = self.embed(hist - mu)
        for blk in self.blocks:
            z = self.norm(blk(z))
        z = self.extend(z.transpose(1, 2)).transpose(1, 2)
        return self.project(z) + mu


def get_model():
    return PeriodForecaster().eval()


def _series(cycles):
    t = torch.arange(28.0) / 28
    wave = torch.sin(2 * torch.pi * cycles * t)[None, :, None]
    return 4 * wave + 0.1 * torch.randn(2, 28, 3)


def get_inputs():
    return (_series(4),)


def get_other_inputs():
    return (_series(3),)
