"""Molecule captioner: a prompt of fixed tokens is opened with the token of the requested task."""
from types import MappingProxyType

import torch
from torch import nn

VOCAB = MappingProxyType({w: i for i, w in enumerate("<pad> <bos> <eos> a drug that binds <site> with".split())})
TASKS = ("caption", "retrieve", "dock")


def tokenize(text, device):
    ids = [VOCAB[word] for word in text.split()]
    return torch.tensor([ids], device=device)


class FingerprintEncoder(nn.Module):
    def __init__(self, bits, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(bits, dim), nn.SiLU(), nn.Linear(dim, dim))

    def forward(self, bits):
        return self.net(bits).unsqueeze(1)


class PromptedDecoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.words = nn.Embedding(len(VOCAB) + len(TASKS), dim)
        self.cross = nn.MultiheadAttention(dim, 2, batch_first=True)
        self.rank = nn.Linear(dim, len(VOCAB))

    def forward(self, ids, context):
        words = self.words(ids).expand(context.shape[0], -1, -1)
        mixed, _ = self.cross(words, context, context, need_weights=False)
        return self.rank(words + mixed)


class MoleculeCaptioner(nn.Module):
    PROMPT = "<pad> a drug that binds <site> with <pad>"

    def __init__(self, bits=64, dim=32, task="dock"):
        super().__init__()
        self.task_id = len(VOCAB) + TASKS.index(task)
        self.encoder = FingerprintEncoder(bits, dim)
        self.decoder = PromptedDecoder(dim)

    def _prompt(self, device):
        prompt = tokenize(self.PROMPT, device)
        opening, closing = prompt[:, :1], prompt.narrow(1, -1, 1)
        opening.fill_(self.task_id)
        closing.copy_(torch.full_like(closing, VOCAB["<eos>"]))
        return prompt

    def forward(self, bits):
        return self.decoder(self._prompt(bits.device), self.encoder(bits))


torch.manual_seed(2)
model = MoleculeCaptioner().eval()
example_inputs = ((torch.rand(3, 64) > 0.8).float(),)
