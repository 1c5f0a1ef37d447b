"""Graph convolution on a mini-batch object, in the style of graph libraries."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class GraphBatch:
    x: torch.Tensor
    edge_index: torch.Tensor
    edge_weight: torch.Tensor


class GCNLayer(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.lin = nn.Linear(cin, cout)

    def forward(self, x, edge_index, w):
        row, col = edge_index[0], edge_index[1]
        deg = torch.zeros(x.size(0)).scatter_add(0, col, w) + 1.0
        h = self.lin(x)
        norm = w * deg[row].rsqrt() * deg[col].rsqrt()
        out = torch.zeros_like(h).index_add(0, col, h[row] * norm.unsqueeze(-1))
        return out + h / deg.unsqueeze(-1)


class FraudGCN(nn.Module):
    def __init__(self, cin=5, hidden=16):
        super().__init__()
        self.g1 = GCNLayer(cin, hidden)
        self.g2 = GCNLayer(hidden, 1)

    def forward(self, batch: GraphBatch):  # EXPECT: pytree-io
        h = torch.relu(self.g1(batch.x, batch.edge_index, batch.edge_weight))
        return self.g2(h, batch.edge_index, batch.edge_weight).squeeze(-1).sigmoid()


def get_model():
    torch.manual_seed(24)
    return FraudGCN().eval()


def _batch():
    return GraphBatch(torch.randn(7, 5), torch.randint(0, 7, (2, 12)), torch.rand(12))


def get_inputs():
    return (_batch(),)


def get_other_inputs():
    return (_batch(),)
