"""Sound-event tagger reading one channel of a recording, framed without copying."""
import torch
from torch import nn


def frame(wave, size, hop):
    count = 1 + (wave.shape[-1] - size) // hop
    step = wave.stride(-1)  # EXPECT: strides-of-example
    return wave.as_strided((wave.shape[0], count, size), (wave.stride(0), hop * step, step))  # EXPECT: strides-of-example


class EventTagger(nn.Module):
    def __init__(self, size=64, hop=32, tags=6):
        super().__init__()
        self.size, self.hop = size, hop
        self.register_buffer("window", torch.hann_window(size))
        self.net = nn.Sequential(nn.Linear(size // 2 + 1, 24), nn.ReLU(), nn.Linear(24, tags))

    def spectrum(self, wave):
        return torch.fft.rfft(frame(wave, self.size, self.hop) * self.window).abs()

    def forward(self, wave):
        return self.net(torch.log1p(self.spectrum(wave))).amax(1).sigmoid()


def get_model():
    return EventTagger().eval()


def get_inputs():
    return (torch.randn(2, 512),)


def get_other_inputs():
    stereo = torch.randn(2, 512, 2)
    return (stereo[..., 0],)
