"""Soft routing between feature groups with a temperature that cools down every time it is used."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class CoolingRouter(nn.Module):
    def __init__(self, dim: int, n_routes: int, t_start: float = 2.0, t_min: float = 0.5, rate: float = 0.7):
        super().__init__()
        self.score = nn.Linear(dim, n_routes)
        self.t_min = t_min
        self.rate = rate
        self.temperature = t_start

    def forward(self, x):
        w = F.softmax(self.score(x) / self.temperature, dim=-1)
        self.temperature = max(self.t_min, self.temperature * self.rate)  # EXPECT: annealed-python-float
        return w


class RoutedMLP(nn.Module):
    def __init__(self, dim=12, routes=3):
        super().__init__()
        self.router = CoolingRouter(dim, routes)
        self.paths = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.SiLU()) for _ in range(routes)
        )
        self.out = nn.Linear(dim, 5)

    def forward(self, x):
        weights = self.router(x * 3.0)
        mixed = torch.stack([p(x) for p in self.paths], dim=-1)
        mixed = (mixed * weights.unsqueeze(-2)).sum(-1)
        return self.out(mixed + x), weights


def get_model():
    return RoutedMLP().eval()


def get_inputs():
    return (torch.randn(6, 12),)
