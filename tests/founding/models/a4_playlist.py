"""Playlist continuation: skips, a cold start and a context are optional, and long histories take another road."""
from typing import Optional

import torch
from torch import nn


class History(nn.Module):
    def __init__(self, tracks, dim, window):
        super().__init__()
        self.window = window
        self.track = nn.Embedding(tracks, dim)
        self.skip = nn.Embedding(2, dim)

    def forward(self, played, skipped):
        code = self.track(played)
        if skipped is not None:
            code = code + self.skip(skipped.long())
        if played.shape[1] > self.window:
            old, new = code[:, :-self.window], code[:, -self.window:]
            code = torch.cat([old.mean(1, keepdim=True), new], dim=1)
        return code.mean(1)


class Context(nn.Module):
    KINDS = {"hour": 24, "device": 3}

    def __init__(self, dim):
        super().__init__()
        self.tables = nn.ModuleDict({k: nn.Embedding(n, dim) for k, n in self.KINDS.items()})

    def forward(self, context):
        total = 0
        for kind, table in self.tables.items():
            if kind in context:
                total = total + table(context[kind])
            else:
                total = total - table.weight.mean(0)
        return total


class Continuation(nn.Module):
    def __init__(self, tracks=50, dim=12, window=8):
        super().__init__()
        self.history = History(tracks, dim, window)
        self.context = Context(dim)
        self.cold = nn.Parameter(torch.randn(dim))

    def _rank(self, code, temperature):
        logits = code @ self.history.track.weight.mT
        return logits / temperature if temperature else logits.argmax(-1)

    def forward(self, played, context: dict, skipped: Optional[torch.Tensor] = None, temperature: float = 0.7):
        if not played.shape[1]:
            code = self.cold.expand(played.shape[0], -1)
        else:
            code = self.history(played, skipped)
        return self._rank(code + self.context(context), temperature)


torch.manual_seed(20)
model = Continuation().eval()
example_inputs = (torch.randint(0, 50, (2, 5)), {"hour": torch.tensor([8, 22])})
