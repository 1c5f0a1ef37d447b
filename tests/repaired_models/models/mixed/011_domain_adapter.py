"""Text classifier with one bottleneck adapter for each domain."""
import torch
from torch import nn


class Adapter(nn.Module):
    def __init__(self, d, r):
        super().__init__()
        self.down = nn.Linear(d, r)
        self.up = nn.Linear(r, d)

    def forward(self, x):
        return x + self.up(torch.relu(self.down(x)))


class EncoderLayer(nn.Module):
    def __init__(self, d, r, n_domains):
        super().__init__()
        self.mix = nn.Linear(d, d)
        self.norm = nn.LayerNorm(d)
        self.adapters = nn.ModuleList(Adapter(d, r) for _ in range(n_domains))

    def forward(self, x, domain):
        x = self.norm(x + torch.tanh(self.mix(x)))
        return self.adapters[domain.item()](x)  # EXPECT: tensor-to-python


class DomainClassifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        d = cfg["dim"]
        self.tok = nn.Embedding(cfg["vocab"], d)
        self.layer = EncoderLayer(d, cfg["rank"], cfg["domains"])
        self.out = nn.Linear(d, cfg["labels"])

    def forward(self, ids, domain):
        h = self.layer(self.tok(ids), domain)
        return self.out(h.mean(1))


CFG = dict(vocab=50, dim=20, rank=4, domains=3, labels=4)


def get_model():
    torch.manual_seed(14)
    return DomainClassifier(CFG).eval()


def get_inputs():
    return torch.randint(0, 50, (2, 9)), torch.tensor(0)


def get_other_inputs():
    return torch.randint(0, 50, (2, 9)), torch.tensor(2)
