"""Universal-transformer style reader which thinks as long as some token has not halted."""
import torch
from torch import nn


class Ponder(nn.Module):
    MAX_STEPS = 6

    def __init__(self, dim=24, heads=4, classes=5):
        super().__init__()
        self.block = nn.TransformerEncoderLayer(dim, heads, 48, dropout=0.0, batch_first=True)
        self.halt = nn.Linear(dim, 1)
        self.out = nn.Linear(dim, classes)

    @property
    def threshold(self):
        return 0.95

    def forward(self, x):
        batch, seq, _ = x.shape
        acc = x.new_zeros(batch, seq)
        total = torch.zeros_like(x)
        for step in range(self.MAX_STEPS):
            x = self.block(x)
            p = torch.sigmoid(self.halt(x)).squeeze(-1)
            running = acc < self.threshold
            p = torch.where(running, torch.minimum(p, 1 - acc), torch.zeros_like(p))
            total = total + p.unsqueeze(-1) * x
            acc = acc + p
            if (acc >= self.threshold).all():  # EXPECT: early-stop-on-data
                break
        return self.out(total.mean(1)), step + 1 + torch.zeros(batch)


def get_model():
    m = Ponder()
    nn.init.constant_(m.halt.bias, 0.3)
    nn.init.normal_(m.halt.weight, std=0.6)
    return m.eval()


def get_inputs():
    return (torch.randn(2, 5, 24),)


def get_other_inputs():
    return (torch.randn(2, 5, 24) * 4 + 1,)
