"""Card fraud scorer over mixed tabular columns; the input layer adapts to the number of columns at first use."""
import torch
import torch.nn as nn


class ResidualMLP(nn.Module):
    def __init__(self, dim, drop=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, 2 * dim)
        self.fc2 = nn.Linear(2 * dim, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        return x + self.drop(self.fc2(torch.relu(self.fc1(self.norm(x)))))


class FraudScorer(nn.Module):
    def __init__(self, n_merchants=50, dim=32, depth=2):
        super().__init__()
        self.merchant = nn.Embedding(n_merchants, dim)
        self.adapter = nn.LazyLinear(dim)  # EXPECT: uninitialised-lazy-module
        self.blocks = nn.Sequential(*[ResidualMLP(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, 1)
        self.dim = dim

    def forward(self, numeric, merchant):
        x = self.adapter(torch.log1p(numeric.abs()))  # EXPECT: uninitialised-lazy-module
        x = self.blocks(x + self.merchant(merchant))
        return self.head(x).squeeze(-1).sigmoid()


def get_model():
    return FraudScorer().eval()


def get_inputs():
    return 100 * torch.rand(6, 11), torch.randint(0, 50, (6,))
