"""Demand forecasting over a panel of stores: seasonal and trend branches (N-BEATS flavour)."""
import torch
from torch import nn
from torch.export import Dim

CFG = {"lookback": 28, "period": 7, "horizon": 7, "width": 24}


class TrendBranch(nn.Module):
    def __init__(self, lookback, horizon, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(lookback, width), nn.ReLU(), nn.Linear(width, 3))
        t = torch.linspace(0, 1, horizon)
        self.register_buffer("basis", torch.stack([t ** p for p in range(3)]))

    def forward(self, x):
        return self.net(x) @ self.basis


class PanelForecaster(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.trend = TrendBranch(cfg["lookback"], cfg["horizon"], cfg["width"])
        self.season = nn.Conv1d(cfg["lookback"] // cfg["period"], 1, 1)

    def forward(self, history):
        stores = int(history.shape[0])  # EXPECT: dynamic-shape-specialised
        weeks = history.view(stores, -1, self.cfg["period"])
        seasonal = self.season(weeks).squeeze(1)
        level = history.mean(-1, keepdim=True)
        return self.trend(history - level) + seasonal - seasonal.mean(-1, keepdim=True) + level


def get_model():
    torch.manual_seed(18)
    return PanelForecaster(CFG).eval()


def get_inputs():
    return (torch.rand(4, CFG["lookback"]),)


def get_other_inputs():
    return (torch.rand(9, CFG["lookback"]),)


def get_dynamic_shapes():
    return {"history": {0: Dim("stores", min=2, max=512)}}
