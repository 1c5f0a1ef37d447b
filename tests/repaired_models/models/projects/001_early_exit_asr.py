"""Streaming keyword spotter with a shallow exit head, the deep stack only runs when needed."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class SpotterConfig:
    n_mels: int = 24
    width: int = 32
    n_keywords: int = 6
    exit_threshold: float = 0.30


class TDNNBlock(nn.Module):
    def __init__(self, cin, cout, dilation):
        super().__init__()
        self.conv = nn.Conv1d(cin, cout, 3, dilation=dilation, padding=dilation)
        self.norm = nn.BatchNorm1d(cout)

    def forward(self, x):
        y = F.relu(self.norm(self.conv(x)))
        return x + y if x.shape == y.shape else y


class KeywordSpotter(nn.Module):
    def __init__(self, cfg: SpotterConfig):
        super().__init__()
        self.cfg = cfg
        self.shallow = nn.Sequential(TDNNBlock(cfg.n_mels, cfg.width, 1), TDNNBlock(cfg.width, cfg.width, 2))
        self.deep = nn.Sequential(*[TDNNBlock(cfg.width, cfg.width, d) for d in (2, 4, 8)])
        self.exit_head = nn.Linear(cfg.width, cfg.n_keywords)
        self.final_head = nn.Linear(cfg.width, cfg.n_keywords)

    def _pool(self, h):
        return h.mean(dim=-1)

    def forward(self, mel):
        h = self.shallow(mel)
        quick = self.exit_head(self._pool(h)).softmax(-1)
        if quick.max() > self.cfg.exit_threshold:  # EXPECT: data-dependent-branch
            return quick.log()
        h = self.deep(h)
        return F.log_softmax(self.final_head(self._pool(h)), dim=-1)


def get_model():
    return KeywordSpotter(SpotterConfig()).eval()


def get_inputs():
    return (torch.randn(1, 24, 40) * 12,)


def get_other_inputs():
    return (torch.randn(1, 24, 40) * 0.01,)
