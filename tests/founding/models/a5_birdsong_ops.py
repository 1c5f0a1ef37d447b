"""Birdsong detector on raw audio."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Mel(nn.Module):
    def __init__(self, n_fft=32, bands=10):
        super().__init__()
        self.n_fft = n_fft
        self.register_buffer("window", torch.hann_window(n_fft))
        self.register_buffer("bank", torch.rand(n_fft // 2 + 1, bands))

    def forward(self, audio):
        spec = torch.stft(audio, self.n_fft, self.n_fft // 2, window=self.window, return_complex=True)
        power = spec.abs().square().transpose(1, 2)
        return torch.logaddexp(power @ self.bank, torch.tensor(-6.0))


class Detector(nn.Module):
    def __init__(self, bands=10, species=5):
        super().__init__()
        self.mel = Mel(bands=bands)
        self.norm = nn.InstanceNorm1d(bands, affine=True)
        self.ctx = nn.Conv1d(bands, 12, 3, padding=1)
        self.up = nn.PixelShuffle(2)
        self.species = nn.Linear(12, species)

    def forward(self, audio):
        m = self.norm(self.mel(audio).transpose(1, 2))
        h = F.silu(self.ctx(m))
        h = F.layer_norm(h.transpose(1, 2), (12,))
        zoom = self.up(h.reshape(h.shape[0], 4, -1, 3))
        calls = torch.einsum("btc,sc->bts", h, self.species.weight).logcumsumexp(1)
        return calls.softmax(-1), F.hardswish(zoom).std((1, 2, 3))


def get_model():
    torch.manual_seed(211)
    return Detector().eval()


def get_inputs():
    return (torch.randn(2, 256, generator=torch.Generator().manual_seed(212)),)
