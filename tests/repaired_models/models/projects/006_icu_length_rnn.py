"""ICU vitals encoder: GRU cell over the valid hours of each stay."""
import torch
from torch import nn


class VitalsEmbed(nn.Module):
    def __init__(self, n_vitals, d):
        super().__init__()
        self.value = nn.Linear(n_vitals, d)
        self.missing = nn.Linear(n_vitals, d, bias=False)

    def forward(self, vitals, observed):
        return torch.tanh(self.value(vitals * observed) + self.missing(1 - observed))


class StayEncoder(nn.Module):
    def __init__(self, n_vitals=9, d=20, n_outcomes=3):
        super().__init__()
        self.embed = VitalsEmbed(n_vitals, d)
        self.cell = nn.GRUCell(d, d)
        self.risk = nn.Linear(d, n_outcomes)
        self.h0 = nn.Parameter(torch.zeros(1, d))

    def _step(self, h, x_t, alive):
        h_new = self.cell(x_t, h)
        return torch.where(alive.unsqueeze(-1), h_new, h)

    def forward(self, vitals, observed, hours):
        x = self.embed(vitals, observed)
        h = self.h0.expand(x.size(0), -1)
        for t in range(int(hours.max())):  # EXPECT: data-dependent-loop
            h = self._step(h, x[:, t], hours > t)
        return self.risk(h).sigmoid()


def get_model():
    return StayEncoder().eval()


def _stay(hours):
    b, t = len(hours), 12
    return torch.randn(b, t, 9), torch.randint(0, 2, (b, t, 9)).float(), torch.tensor(hours)


def get_inputs():
    return _stay([3, 5, 4])


def get_other_inputs():
    return _stay([12, 2, 9])
