"""Music source separation: one mask network per stem, run side by side on CPU cores."""
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn as nn


class StemMask(nn.Module):
    def __init__(self, n_freq, hidden=24):
        super().__init__()
        self.inp = nn.Linear(n_freq, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, n_freq)

    def forward(self, mag):
        h, _ = self.rnn(torch.tanh(self.inp(mag)))
        return self.out(h).sigmoid()


class StemSeparator(nn.Module):
    STEMS = ("vocals", "drums", "bass")

    def __init__(self, n_fft=64):
        super().__init__()
        self.n_fft = n_fft
        self.register_buffer("window", torch.hann_window(n_fft))
        self.nets = nn.ModuleDict({s: StemMask(n_fft // 2 + 1) for s in self.STEMS})
        self.workers = 2

    def masks(self, mag):
        with ThreadPoolExecutor(self.workers) as pool:  # EXPECT: threads-in-forward
            jobs = [pool.submit(self.nets[s], mag) for s in self.STEMS]  # EXPECT: threads-in-forward
            return [j.result() for j in jobs]  # EXPECT: threads-in-forward

    def forward(self, wav):
        spec = torch.stft(wav, self.n_fft, window=self.window, return_complex=True)
        mag = spec.abs().transpose(1, 2)
        m = torch.stack(self.masks(mag), dim=1)
        m = m / m.sum(1, keepdim=True).clamp_min(1e-6)
        return (m * mag.unsqueeze(1)).transpose(2, 3)


def get_model():
    return StemSeparator().eval()


def get_inputs():
    return (torch.randn(2, 512),)
