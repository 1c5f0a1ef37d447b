"""Radar precipitation nowcasting with quantile matching of the predicted field."""
import numpy as np
import torch
import torch.nn as nn


class ConvGRUCell(nn.Module):
    def __init__(self, cin, ch):
        super().__init__()
        self.gates = nn.Conv2d(cin + ch, 2 * ch, 3, padding=1)
        self.cand = nn.Conv2d(cin + ch, ch, 3, padding=1)

    def forward(self, x, h):
        z, r = self.gates(torch.cat([x, h], 1)).sigmoid().chunk(2, 1)
        n = torch.tanh(self.cand(torch.cat([x, r * h], 1)))
        return (1 - z) * h + z * n


class Nowcaster(nn.Module):
    QUANTILES = (0.5, 0.9, 0.99)

    def __init__(self, ch=8):
        super().__init__()
        self.cell = ConvGRUCell(1, ch)
        self.decode = nn.Conv2d(ch, 1, 1)
        self.ch = ch

    def climatology(self, frames):
        rain = frames.detach().cpu().numpy()  # EXPECT: numpy-interop
        return np.quantile(rain, self.QUANTILES).astype("float32")  # EXPECT: numpy-interop

    def forward(self, frames):
        # frames: (B, T, H, W) in mm/h
        b, t, hh, ww = frames.shape
        h = frames.new_zeros(b, self.ch, hh, ww)
        for k in range(t):
            h = self.cell(frames[:, k : k + 1], h)
        pred = torch.relu(self.decode(h))
        ref = torch.from_numpy(self.climatology(frames))
        own = torch.quantile(pred.flatten(), torch.tensor(self.QUANTILES))
        gain = (ref / own.clamp_min(1e-3)).mean().clamp(0.2, 5.0)
        return pred * gain


def get_model():
    return Nowcaster().eval()


def get_inputs():
    return (torch.rand(2, 4, 16, 16),)
