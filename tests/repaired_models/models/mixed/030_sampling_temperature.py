"""Character language model head with temperature and nucleus-free sampling scores."""
import torch
from torch import nn


class CharCell(nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.lstm = nn.LSTM(d, d, num_layers=2, batch_first=True)

    def forward(self, ids):
        return self.lstm(self.emb(ids))[0][:, -1]


class CharLM(nn.Module):
    def __init__(self, vocab=28, d=16):
        super().__init__()
        self.core = CharCell(vocab, d)
        self.bias = nn.Parameter(torch.zeros(vocab))

    def logits(self, ids):
        return self.core(ids) @ self.core.emb.weight.T + self.bias

    def forward(self, ids, temperature: float):  # EXPECT: python-scalar-input
        scaled = self.logits(ids) / temperature
        logp = scaled.log_softmax(-1)
        entropy = -(logp.exp() * logp).sum(-1)
        return logp, entropy


def get_model():
    torch.manual_seed(38)
    return CharLM().eval()


def get_inputs():
    return torch.randint(0, 28, (2, 10)), 0.7


def get_other_inputs():
    return torch.randint(0, 28, (2, 10)), 1.3
