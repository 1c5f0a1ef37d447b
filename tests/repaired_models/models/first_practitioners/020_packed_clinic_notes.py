"""Readmission model over visit sequences of different length, packed for the LSTM."""
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence


class VisitEncoder(nn.Module):
    def __init__(self, codes=50, dim=12):
        super().__init__()
        self.codes = nn.Embedding(codes, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, dim, batch_first=True)

    def forward(self, visits):
        lengths = (visits != 0).sum(1).clamp(min=1)
        packed = pack_padded_sequence(self.codes(visits), lengths, batch_first=True, enforce_sorted=False)  # EXPECT: packed-sequence
        _, (h, _) = self.rnn(packed)
        return h[-1]


class Readmission(nn.Module):
    def __init__(self, static=4, dim=12):
        super().__init__()
        self.enc = VisitEncoder(dim=dim)
        self.head = nn.Sequential(nn.Linear(dim + static, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, visits, static):
        return self.head(torch.cat([self.enc(visits), static], -1)).sigmoid().squeeze(-1)


def get_model():
    return Readmission().eval()


def _visits(lens, width=8):
    v = torch.randint(1, 50, (len(lens), width))
    return v * (torch.arange(width) < torch.tensor(lens)[:, None])


def get_inputs():
    return _visits([3, 8, 5]), torch.randn(3, 4)


def get_other_inputs():
    return _visits([8, 2, 6]), torch.randn(3, 4)
