"""Multi-tenant ranking model: every market has its own calibration tower."""
import torch
import torch.nn as nn

MARKETS = {0: "us", 1: "de", 2: "jp"}


class Tower(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class TenantRanker(nn.Module):
    def __init__(self, n_items=500, dim=24):
        super().__init__()
        self.items = nn.Embedding(n_items, dim)
        self.user = nn.Linear(10, dim)
        self.mix = nn.Linear(2 * dim, dim)
        self.towers = nn.ModuleDict({name: Tower(dim) for name in MARKETS.values()})

    def tower_for(self, market):
        code = market.item()
        return self.towers[MARKETS[code]]  # EXPECT: tensor-value-as-dict-key

    def forward(self, user_feats, item_ids, market):
        u = self.user(user_feats)
        v = self.items(item_ids)
        u = u.unsqueeze(1).expand_as(v)
        h = torch.relu(self.mix(torch.cat([u, v], dim=-1)))
        logits = self.tower_for(market)(h)
        return logits.sigmoid()


def get_model():
    return TenantRanker().eval()


def get_inputs():
    return torch.randn(4, 10), torch.randint(0, 500, (4, 7)), torch.tensor(1)


def get_other_inputs():
    return torch.randn(4, 10), torch.randint(0, 500, (4, 7)), torch.tensor(2)
