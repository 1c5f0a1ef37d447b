"""Session-based recommender that carries the hidden state of an earlier visit if there was one."""
from typing import Optional

import torch
import torch.nn as nn


class ItemEncoder(nn.Module):
    def __init__(self, n_items, dim):
        super().__init__()
        self.emb = nn.Embedding(n_items, dim, padding_idx=0)
        self.price = nn.Linear(1, dim)

    def forward(self, items, price):
        return self.emb(items) + self.price(torch.log1p(price).unsqueeze(-1))


class SessionGRU(nn.Module):
    def __init__(self, n_items=300, dim=32):
        super().__init__()
        self.encoder = ItemEncoder(n_items, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.carry = nn.Linear(dim, dim)
        self.dim = dim

    def initial_state(self, batch, state: Optional[torch.Tensor]):
        if state is None:  # EXPECT: optional-argument-none
            return torch.zeros(1, batch, self.dim)
        return torch.tanh(self.carry(state)).unsqueeze(0)

    def forward(self, items, price, state: Optional[torch.Tensor] = None):  # EXPECT: optional-argument-none
        x = self.encoder(items, price)
        h0 = self.initial_state(items.shape[0], state)
        out, h = self.gru(x, h0)
        logits = out[:, -1] @ self.encoder.emb.weight.T
        return logits, h.squeeze(0)


def get_model():
    return SessionGRU().eval()


def get_inputs():
    return torch.randint(1, 300, (2, 5)), 50 * torch.rand(2, 5), None


def get_other_inputs():
    return torch.randint(1, 300, (2, 5)), 50 * torch.rand(2, 5), torch.randn(2, 32)
