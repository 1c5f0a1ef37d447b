"""Currency model: running moments, a ring of quotes and a ledger."""
import torch
from torch import nn
from torch.nn import functional as F

FEES = torch.tensor([0.0002, 0.0003, 0.0005])


class Moments(nn.Module):
    def __init__(self, pairs):
        super().__init__()
        self.register_buffer("mean", torch.zeros(pairs))
        self.register_buffer("seen", torch.zeros((), dtype=torch.long), persistent=False)

    def forward(self, quotes):
        self.seen += 1
        self.mean.lerp_(quotes.mean(0), 0.1)
        return quotes - self.mean


class Trader(nn.Module):
    def __init__(self, pairs=3, depth=4):
        super().__init__()
        self.moments = Moments(pairs)
        self.register_buffer("ring", torch.zeros(depth, pairs))
        self.signal = nn.Parameter(torch.randn(pairs, pairs) * 0.3)
        self.scale = nn.Linear(pairs, pairs)

    def remember(self, quotes):
        self.ring.copy_(self.ring.roll(-1, 0))
        self.ring[-1].copy_(quotes[-1])
        return self.ring

    def forward(self, quotes, ledger):
        z = self.moments(quotes)
        trend = self.remember(quotes).std(0)
        orders = F.hardtanh(self.scale(z @ self.signal) / (trend + 1), inplace=True)
        orders.t()[0].mul_(0.5)
        ledger[:, 1:].add_(orders.abs().sum(0)[1:])
        costs = orders.abs() @ FEES.view(-1, 1)
        return orders, costs.squeeze(1), quotes


def get_model():
    torch.manual_seed(161)
    return Trader().eval()


def get_inputs():
    g = torch.Generator().manual_seed(162)
    return 1 + 0.01 * torch.randn(5, 3, generator=g), torch.zeros(2, 3)


def get_dynamic_shapes():
    return {"quotes": {0: torch.export.Dim("ticks", min=2, max=256)}, "ledger": None}
