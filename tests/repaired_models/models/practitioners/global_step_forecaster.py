import torch
from torch import nn

_RUN = {"step": 0, "period": 4}


def seasonal_phase():
    k = _RUN["step"] % _RUN["period"]
    _RUN["step"] += 1
    return k


class SeasonalForecaster(nn.Module):
    """One call per day, the season embedding follows the call number."""

    def __init__(self, window=14, horizon=3, d=10):
        super().__init__()
        self.inp = nn.Linear(window, d)
        self.season = nn.Embedding(_RUN["period"], d)
        self.out = nn.Linear(d, horizon)

    def forward(self, series):
        level = series.mean(-1, keepdim=True)
        h = torch.relu(self.inp(series - level))
        h = h + self.season.weight[seasonal_phase()]
        return self.out(h) + level


def get_model():
    return SeasonalForecaster().eval()


def get_inputs():
    return (torch.randn(2, 14),)


def get_other_inputs():
    return (torch.randn(2, 14).cumsum(-1),)
