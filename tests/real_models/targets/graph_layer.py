"""Two layers over a graph: each node takes the mean of what its neighbours send, by scatter.

10 nodes of width 8, 24 edges as pairs of numbers, any number of edges. Exports as it comes.
"""

import torch
from torch import nn


class Neighbours(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.own, self.sent = nn.Linear(before, after), nn.Linear(before, after)

    def forward(self, nodes, edges):
        start, end = edges[0], edges[1]
        messages = self.sent(nodes)[start]
        total = torch.zeros_like(self.own(nodes)).index_add(0, end, messages)
        count = torch.zeros(nodes.shape[0]).scatter_add(0, end, torch.ones_like(end, dtype=torch.float32))
        return torch.relu(self.own(nodes) + total / count.clamp(min=1).unsqueeze(1))


class Graph(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Neighbours(8, 16), Neighbours(16, 4)

    def forward(self, nodes, edges):
        return self.second(self.first(nodes, edges), edges)


torch.manual_seed(0)
model = Graph().eval()
example_args = (torch.randn(10, 8), torch.randint(0, 10, (2, 24)))
dynamic_shapes = (None, {1: torch.export.Dim("edges", min=2, max=512)})
