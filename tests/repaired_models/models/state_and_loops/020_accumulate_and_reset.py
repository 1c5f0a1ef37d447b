"""Spike-count readout that sums evidence over windows and starts afresh at a trial boundary."""
import torch
from torch import nn


class EvidenceReadout(nn.Module):
    def __init__(self, n_in=12, n_out=3):
        super().__init__()
        self.w = nn.Linear(n_in, n_out)
        self.register_buffer("evidence", torch.zeros(n_out))
        self.age = 0

    def _restart(self):
        self.evidence.zero_()
        self.age = 0  # EXPECT: counter-reset-by-condition

    @torch.no_grad()
    def forward(self, window, boundary):
        if boundary:  # EXPECT: state-reset-on-data-condition
            self._restart()
        self.evidence.add_(self.w(window).mean(0))
        self.age += 1  # EXPECT: counter-reset-by-condition
        return torch.softmax(self.evidence / self.age, dim=0)


def get_model():
    return EvidenceReadout().eval()


def get_inputs():
    return torch.rand(5, 12).round(), torch.tensor(False)


def get_other_inputs():
    return torch.rand(5, 12) * 4, torch.tensor(True)
