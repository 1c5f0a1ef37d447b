"""Click-through model that takes the feature batch as a dict."""
import torch
import torch.nn as nn


def cross(a, b):
    return (a.unsqueeze(-1) * b.unsqueeze(-2)).flatten(1)


class FieldEncoder(nn.Module):
    def __init__(self, sizes, d):
        super().__init__()
        self.emb = nn.ModuleDict({k: nn.Embedding(n, d) for k, n in sizes.items()})

    def forward(self, batch):
        return {k: emb(batch[k]) for k, emb in self.emb.items()}


class CTRModel(nn.Module):
    SIZES = {"user": 30, "ad": 20}

    def __init__(self, d=6):
        super().__init__()
        self.fields = FieldEncoder(self.SIZES, d)
        self.dense = nn.Linear(4, d)
        self.top = nn.Sequential(nn.Linear(d * d + d, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, batch):
        emb = self.fields(batch)
        batch["cross"] = cross(emb["user"], emb["ad"])  # EXPECT: input-mutation
        dense = torch.relu(self.dense(batch["dense"]))
        logit = self.top(torch.cat([batch["cross"], dense], dim=1)).squeeze(1)
        return torch.sigmoid(logit)


def get_model():
    return CTRModel().eval()


def get_inputs():
    return ({
        "user": torch.randint(0, 30, (4,)),
        "ad": torch.randint(0, 20, (4,)),
        "dense": torch.randn(4, 4),
    },)
