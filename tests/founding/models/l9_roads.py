"""Traffic on a road graph: messages along edges, every size of the graph differs from city to city."""
import torch
from torch import nn


class EdgeMessage(nn.Module):
    def __init__(self, node, edge, out):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * node + edge, out), nn.ReLU())

    def forward(self, nodes, links, lengths):
        source, target = links
        pair = torch.cat([nodes[source], nodes[target], lengths], dim=-1)
        return self.net(pair), target


class MeanGather(nn.Module):
    def forward(self, messages, target, count):
        total = messages.new_zeros(count, messages.shape[-1]).index_add(0, target, messages)
        seen = messages.new_zeros(count).index_add(0, target, torch.ones_like(target, dtype=messages.dtype))
        return total / seen.clamp_min(1).unsqueeze(-1)


class Daily(nn.Module):
    """Averages hours to four quarters of the day."""

    def forward(self, speeds):
        return speeds.unflatten(1, (4, -1)).mean(2)


class RoadTraffic(nn.Module):
    def __init__(self, width=12, rounds=2):
        super().__init__()
        self.daily = Daily()
        sizes = [4] + [width] * rounds
        self.messages = nn.ModuleList(EdgeMessage(a, 2, b) for a, b in zip(sizes, sizes[1:]))
        self.gather = MeanGather()
        self.out = nn.Linear(width, 1)

    def forward(self, speeds, links, lengths, closures):
        x = self.daily(speeds)
        for message in self.messages:
            m, target = message(x, links, lengths)
            x = self.gather(m * closures.unsqueeze(-1), target, speeds.shape[0])
        return self.out(x).squeeze(-1)


def small_city(nodes=9, roads=20, hours=24):
    torch.manual_seed(12)
    return (
        torch.rand(nodes, hours),
        torch.randint(0, nodes, (2, roads)),
        torch.rand(roads, 2),
        torch.ones(roads),
    )


model = RoadTraffic().eval()
example_inputs = small_city()
