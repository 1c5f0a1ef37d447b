"""Front end of a keyword spotter with a denoiser that is only worth running in loud rooms."""
import torch
from torch import nn
import torch.nn.functional as F


def frame_energy(wave, size=64, hop=32):
    frames = wave.unfold(-1, size, hop)
    return frames.pow(2).mean(-1)


class Denoiser(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(bins, 32), nn.ReLU(), nn.Linear(32, bins), nn.Sigmoid())

    def forward(self, e):
        return e * self.net(e)


class KeywordSpotter(nn.Module):
    noise_floor = 0.6

    def __init__(self, bins=31, words=12):
        super().__init__()
        self.denoise = Denoiser(bins)
        self.classifier = nn.Linear(bins, words)

    def forward(self, wave):
        e = frame_energy(wave)
        if e.median() > self.noise_floor:  # EXPECT: branch-on-data
            e = self.denoise(e)
        return F.log_softmax(self.classifier(torch.log1p(e)), dim=-1)


def get_model():
    return KeywordSpotter().eval()


def get_inputs():
    return (torch.randn(4, 1024),)


def get_other_inputs():
    return (0.1 * torch.randn(4, 1024),)
