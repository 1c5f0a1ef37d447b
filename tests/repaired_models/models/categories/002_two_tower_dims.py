"""Two-tower model with a dynamic batch for both towers."""
import torch
from torch import nn
from torch.export import Dim

BATCH = Dim("batch", min=2, max=128)


class TwoTower(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.query = nn.Linear(d, 4)
        self.doc = nn.Linear(d, 4)

    def forward(self, query, doc):
        q = nn.functional.normalize(self.query(query), dim=-1)
        k = nn.functional.normalize(self.doc(doc), dim=-1)
        return (q * k).sum(-1)


def get_model():
    return TwoTower().eval()


def get_inputs():
    return torch.randn(4, 6), torch.randn(4, 6)


def get_other_inputs():
    return torch.randn(9, 6), torch.randn(9, 6)


def get_dynamic_shapes():
    return {"query": {0: BATCH}, "document": {0: BATCH}}  # EXPECT: deprecated-export-api
