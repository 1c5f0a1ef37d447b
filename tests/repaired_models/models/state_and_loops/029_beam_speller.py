"""Spelling corrector: beam search over a character bigram model for a fixed number of characters."""
from dataclasses import dataclass
from typing import List

import torch
from torch import nn


@dataclass
class Hyp:
    chars: List[int]
    score: float


class BeamSpeller(nn.Module):
    def __init__(self, n_chars=7, beam=3):
        super().__init__()
        self.beam = beam
        self.trans = nn.Parameter(torch.randn(n_chars, n_chars))
        self.emit = nn.Linear(5, n_chars)

    @torch.no_grad()
    def forward(self, frames):
        emit = self.emit(frames).log_softmax(-1)
        trans = self.trans.log_softmax(-1)
        hyps = [Hyp([c], emit[0, c].item()) for c in range(emit.shape[1])]
        hyps = sorted(hyps, key=lambda h: -h.score)[: self.beam]  # EXPECT: sort-python-floats-from-tensor
        for t in range(1, frames.shape[0]):
            grown = []
            for h in hyps:
                row = trans[h.chars[-1]] + emit[t]
                for c, s in enumerate(row.tolist()):
                    grown.append(Hyp(h.chars + [c], h.score + s))
            grown.sort(key=lambda h: -h.score)  # EXPECT: sort-python-floats-from-tensor
            hyps = grown[: self.beam]
        return torch.tensor([h.chars for h in hyps]), torch.tensor([h.score for h in hyps])


def get_model():
    return BeamSpeller().eval()


def get_inputs():
    return (torch.randn(4, 5),)
