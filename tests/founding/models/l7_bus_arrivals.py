"""Bus arrivals from stop embeddings and reported delays."""
import torch
import torch.nn as nn
from torch.export import dynamic_dim, export


class StopEncoder(nn.Module):
    def __init__(self, n_stops=30, width=12):
        super().__init__()
        self.stop = nn.Embedding(n_stops, width)
        self.delay = nn.GRUCell(1, width)

    def forward(self, stops, delays):
        h = self.stop(stops)
        return self.delay(delays.unsqueeze(-1), h)


class Arrivals(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = StopEncoder()
        self.minutes = nn.Linear(12, 1)

    def forward(self, stops, delays, horizon):
        h = self.encode(stops, delays)
        steps = horizon.item()
        torch._constrain_as_size(steps, min=2, max=24)
        ahead = 0.1 * torch.arange(steps)
        return self.minutes(h) + ahead


def build():
    torch.manual_seed(91)
    return Arrivals().eval()


def sample(n=5, k=6):
    g = torch.Generator().manual_seed(92)
    return torch.randint(0, 30, (n,), generator=g), torch.randn(n, generator=g), torch.tensor(k)


if __name__ == "__main__":
    stops, delays, horizon = sample()
    limits = [
        dynamic_dim(stops, 0) >= 2,
        dynamic_dim(stops, 0) <= 128,
        dynamic_dim(delays, 0) == dynamic_dim(stops, 0),
    ]
    service = export(build(), (stops, delays, horizon), constraints=limits)
    print(service.graph_signature)
