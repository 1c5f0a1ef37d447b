"""Streaming recurrent model that keeps its state between chunks."""
import torch
import torch.nn as nn


class StreamingGRU(nn.Module):
    def __init__(self, d=4, hidden=6):
        super().__init__()
        self.gru = nn.GRU(d, hidden, batch_first=True)
        self.out = nn.Linear(hidden, d)
        self.state = torch.zeros(1, 2, hidden)

    def reset(self):
        self.state = torch.zeros_like(self.state)

    def forward(self, chunk):
        y, h = self.gru(chunk, self.state)
        self.state = h.detach()  # EXPECT: mutable-module-state
        return self.out(y)


def get_model():
    return StreamingGRU().eval()


def get_inputs():
    return (torch.randn(2, 5, 4),)
