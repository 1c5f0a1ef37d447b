"""Step-by-step protein design: one residue is decoded from a prefix, with a memory of keys and values."""
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import nn

ALPHABET = "ACDEFGHIKLMNPQRSTVWY"


_active = ContextVar("active memory")


class LayerMemory:
    """Keys and values per layer, reachable for every layer below the call that opened it."""

    def __init__(self):
        self._held = {}

    def extend(self, place, keys, values):
        if place in self._held:
            before = self._held[place]
            keys, values = (torch.cat(pair, dim=1) for pair in zip(before, (keys, values)))
        self._held[place] = keys, values
        return keys, values

    @contextmanager
    def opened(self):
        token = _active.set(self)
        try:
            yield self
        finally:
            _active.reset(token)


class ResidueLayer(nn.Module):
    def __init__(self, dim, place):
        super().__init__()
        self.place = place
        self.norm = nn.LayerNorm(dim)
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, 2 * dim, bias=False)

    def forward(self, x):
        h = self.norm(x)
        keys, values = _active.get().extend(self.place, *self.to_kv(h).chunk(2, -1))
        score = self.to_q(h) @ keys.mT / keys.shape[-1] ** 0.5
        return x + score.softmax(-1) @ values


class ProteinDecoder(nn.Module):
    def __init__(self, dim=32, depth=3):
        super().__init__()
        self.embed = nn.Embedding(len(ALPHABET), dim)
        self.layers = nn.ModuleList(ResidueLayer(dim, place) for place in range(depth))
        self.rank = nn.Linear(dim, len(ALPHABET))

    def _pass(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.rank(x[:, -1])

    def forward(self, prefix):
        with LayerMemory().opened():
            first = self._pass(prefix).argmax(-1, keepdim=True)
            return first, self._pass(first).log_softmax(-1)


torch.manual_seed(1)
model = ProteinDecoder().eval()
example_inputs = (torch.randint(0, len(ALPHABET), (2, 7)),)

if __name__ == "__main__":
    program = torch.export.export(model, example_inputs, strict=True)
    torch.export.save(program, "protein_step.pt2")
