"""Continuous glucose prediction with a prototype memory that is written at inference time."""
import torch
import torch.nn as nn


class SensorEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.rnn = nn.GRU(2, dim, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[1][-1]


class PrototypeMemory(nn.Module):
    def __init__(self, slots, dim, rate=0.3):
        super().__init__()
        # scratch memory, not part of the checkpoint
        self.table = torch.randn(slots, dim) * 0.1
        self.rate = rate

    def forward(self, z):
        att = (z @ self.table.T).softmax(-1)
        read = att @ self.table
        write = att.T @ z / z.shape[0]
        self.table.mul_(1 - self.rate).add_(self.rate * write.detach())  # EXPECT: in-place-on-plain-tensor
        return read


class GlucosePredictor(nn.Module):
    def __init__(self, dim=16, slots=6, horizon=6):
        super().__init__()
        self.encoder = SensorEncoder(dim)
        self.memory = PrototypeMemory(slots, dim)
        self.head = nn.Linear(2 * dim, horizon)

    def forward(self, window):
        z = self.encoder(window)
        m = self.memory(z)
        return 100 + 40 * self.head(torch.cat([z, m], dim=-1))


def get_model():
    return GlucosePredictor().eval()


def get_inputs():
    return (torch.randn(3, 20, 2),)
