"""Station temperature post-processing: the correction pulls towards the errors of the forecasts so far."""
import torch
from torch import nn

RECENT = []


def drift(window=4):
    tail = RECENT[-window:]
    return sum(tail) / len(tail) if tail else torch.zeros(())


class StationCorrection(nn.Module):
    def __init__(self, predictors=6, stations=5, pull=0.5):
        super().__init__()
        self.station = nn.Embedding(stations, 4)
        self.net = nn.Sequential(nn.Linear(predictors + 4, 24), nn.SiLU(), nn.Linear(24, 1))
        self.pull = pull

    def forward(self, station, predictors, raw):
        x = torch.cat([predictors, self.station(station)], -1)
        delta = self.net(x).squeeze(-1)
        corrected = raw + delta - self.pull * drift()
        RECENT.append((corrected - raw).mean())  # EXPECT: module-level-history
        return corrected


def get_model():
    RECENT.clear()
    return StationCorrection().eval()


def get_inputs():
    return torch.randint(0, 5, (4,)), torch.randn(4, 6), torch.randn(4) * 5


def get_other_inputs():
    return torch.randint(0, 5, (4,)), torch.randn(4, 6) * 4, torch.randn(4) * 5 + 10
