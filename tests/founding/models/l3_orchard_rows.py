"""Orchard yield: each tree row of a lidar sweep is processed on its own, ripe and bare rows differently."""
import torch
import torch.nn as nn
from functorch.experimental import control_flow


class RowNet(nn.Module):
    def __init__(self, feats=5, width=8):
        super().__init__()
        self.lift = nn.Linear(feats, width)
        self.fruit = nn.Linear(width, 3)
        self.wood = nn.Linear(width, 3)

    def ripe(self, h):
        return torch.softmax(self.fruit(h), -1)

    def bare(self, h):
        return self.wood(h).sigmoid()

    def forward(self, row, season):
        h = torch.celu(self.lift(row)) * season
        dense = h.square().mean() > 0.2
        return control_flow.cond(dense, self.ripe, self.bare, (h,))


class Orchard(nn.Module):
    def __init__(self):
        super().__init__()
        self.per_row = RowNet()
        self.total = nn.Linear(3, 1)

    def forward(self, sweep, season):
        rows = control_flow.map(self.per_row.forward, sweep, season)
        return self.total(rows.amax(dim=1)).flatten()


def get_model():
    torch.manual_seed(51)
    return Orchard().eval()


def get_inputs():
    g = torch.Generator().manual_seed(52)
    sweep = torch.randn(4, 6, 5, generator=g) * torch.tensor([0.1, 2.0, 0.5, 3.0])[:, None, None]
    return sweep, torch.tensor(0.8)


def get_other_inputs():
    g = torch.Generator().manual_seed(53)
    return torch.randn(7, 6, 5, generator=g), torch.tensor(1.3)


def get_dynamic_shapes():
    return {"sweep": {0: torch.export.Dim("rows", min=2, max=64)}, "season": None}
