"""Battery state-of-charge estimator that reports saturated gates to the operator."""
import logging

import torch
from torch import nn

log = logging.getLogger(__name__)


class GatedCell(nn.Module):
    def __init__(self, n_in, n_hid):
        super().__init__()
        self.gate = nn.Linear(n_in + n_hid, n_hid)
        self.cand = nn.Linear(n_in + n_hid, n_hid)

    def forward(self, x, h):
        xh = torch.cat([x, h], dim=-1)
        g = torch.sigmoid(self.gate(xh))
        return g * h + (1 - g) * torch.tanh(self.cand(xh))


class SocEstimator(nn.Module):
    def __init__(self, n_in=3, n_hid=12):
        super().__init__()
        self.cell = GatedCell(n_in, n_hid)
        self.soc = nn.Linear(n_hid, 1)
        self.n_hid = n_hid

    def forward(self, telemetry):
        batch, steps, _ = telemetry.shape
        h = telemetry.new_zeros(batch, self.n_hid)
        for t in range(steps):
            h = self.cell(telemetry[:, t], h)
        log.warning("processed %d packs over %d steps", batch, steps)  # EXPECT: side-effect-lost
        return torch.sigmoid(self.soc(h)).squeeze(-1)


def get_model():
    torch.manual_seed(36)
    return SocEstimator().eval()


def get_inputs():
    return (torch.randn(2, 6, 3),)


def get_other_inputs():
    return (torch.randn(2, 6, 3) * 2,)
