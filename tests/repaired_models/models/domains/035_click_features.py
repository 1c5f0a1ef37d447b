"""Click model on a feature dictionary; derived features are added to the batch for the logging side."""
import torch
import torch.nn as nn


class FeatureDeriver(nn.Module):
    def __init__(self, n_users, n_ads, dim):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.ad = nn.Embedding(n_ads, dim)

    def forward(self, batch):
        u, a = self.user(batch["user"]), self.ad(batch["ad"])
        batch["affinity"] = (u * a).sum(-1, keepdim=True)  # EXPECT: caller-dict-mutated
        batch["log_bid"] = torch.log1p(batch["bid"]).unsqueeze(-1)  # EXPECT: caller-dict-mutated
        return torch.cat([u, a], dim=-1)


class CrossLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w = nn.Linear(dim, dim)

    def forward(self, x0, x):
        return x0 * self.w(x) + x


class ClickModel(nn.Module):
    def __init__(self, n_users=80, n_ads=60, dim=12):
        super().__init__()
        self.derive = FeatureDeriver(n_users, n_ads, dim)
        width = 2 * dim + 2
        self.cross = nn.ModuleList([CrossLayer(width) for _ in range(2)])
        self.out = nn.Linear(width, 1)

    def forward(self, batch):
        x = self.derive(batch)
        x0 = torch.cat([x, batch["affinity"], batch["log_bid"]], dim=-1)
        x = x0
        for layer in self.cross:
            x = layer(x0, x)
        return self.out(x).squeeze(-1).sigmoid()


def get_model():
    return ClickModel().eval()


def get_inputs():
    return ({
        "user": torch.randint(0, 80, (5,)),
        "ad": torch.randint(0, 60, (5,)),
        "bid": 3 * torch.rand(5),
    },)
