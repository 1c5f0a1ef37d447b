"""Mortality risk from irregular hospital stays: packed LSTM over visits of different length."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class VisitEmbedding(nn.Module):
    def __init__(self, n_codes, dim):
        super().__init__()
        self.codes = nn.EmbeddingBag(n_codes, dim, mode="mean")
        self.labs = nn.Linear(6, dim)

    def forward(self, codes, labs):
        b, t, k = codes.shape
        c = self.codes(codes.reshape(b * t, k)).view(b, t, -1)
        return torch.relu(c + self.labs(labs))


class MortalityRisk(nn.Module):
    def __init__(self, n_codes=100, dim=24):
        super().__init__()
        self.visit = VisitEmbedding(n_codes, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.head = nn.Linear(2 * dim, 1)

    def forward(self, codes, labs, n_visits):
        x = self.visit(codes, labs)
        packed = pack_padded_sequence(  # EXPECT: packed-sequence
            x, n_visits, batch_first=True, enforce_sorted=False)  # EXPECT: packed-sequence
        out, (h, _) = self.lstm(packed)  # EXPECT: packed-sequence
        out, _ = pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])
        summary = torch.cat([h[-1], out.sum(1) / n_visits.unsqueeze(1)], -1)
        return self.head(summary).sigmoid()


def get_model():
    return MortalityRisk().eval()


def get_inputs():
    return torch.randint(0, 100, (3, 8, 4)), torch.randn(3, 8, 6), torch.tensor([8, 3, 5])


def get_other_inputs():
    return torch.randint(0, 100, (3, 8, 4)), torch.randn(3, 8, 6), torch.tensor([2, 7, 4])
