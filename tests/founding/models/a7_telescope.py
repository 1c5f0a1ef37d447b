"""Transient detection: a light curve, a cut-out image and a catalogue row, each with its own branch of the network."""
import torch
from torch import nn


class Whiten(nn.Module):
    def forward(self, curve):
        return (curve - curve.mean(-1, keepdim=True)) / curve.std(-1, keepdim=True)


class Period(nn.Module):
    """Folds the curve at its strongest period."""

    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def forward(self, curve):
        power = torch.fft.rfft(curve).abs()[:, 1:]
        best = power.sum(0).argmax() + 1
        period = curve.shape[-1] // int(best)
        usable = curve.shape[-1] // period * period
        folded = curve[:, :usable].reshape(curve.shape[0], -1, period).mean(1)
        return nn.functional.adaptive_avg_pool1d(folded[:, None], self.bins)[:, 0]


class LightCurve(nn.Module):
    def __init__(self, bins, dim):
        super().__init__()
        self.steps = nn.Sequential(Whiten(), Period(bins), nn.Linear(bins, dim), nn.ReLU())

    def forward(self, curve):
        return self.steps(curve)


class CutOut(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, dim, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
        )

    def forward(self, image):
        return self.net(image)


class Catalogue(nn.Module):
    def __init__(self, columns, dim):
        super().__init__()
        self.norm = nn.BatchNorm1d(columns)
        self.net = nn.Linear(columns, dim)

    def forward(self, row):
        return self.net(self.norm(row))


class TransientNet(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.branches = nn.ModuleDict(
            {"curve": LightCurve(6, dim), "image": CutOut(dim), "row": Catalogue(4, dim)}
        )
        self.judge = nn.Sequential(nn.Linear(3 * dim, dim), nn.Tanh(), nn.Linear(dim, 2))

    def forward(self, curve, image, row):
        inputs = {"curve": curve, "image": image, "row": row}
        codes = [branch(inputs[name]) for name, branch in self.branches.items()]
        return self.judge(torch.cat(codes, dim=-1))


torch.manual_seed(23)
model = TransientNet().eval()
example_inputs = (torch.randn(3, 48), torch.rand(3, 1, 9, 9), torch.randn(3, 4))
