"""Multilingual text-to-speech duration model; prosody heads are registered by language."""
import torch
from torch import nn

LANGS = ("lang_0", "lang_1", "lang_2")


class ProsodyHead(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.log_dur = nn.Linear(d, 1)
        self.pitch = nn.Linear(d, 1)

    def forward(self, x):
        return self.log_dur(x).squeeze(-1), self.pitch(x).squeeze(-1)


class DurationModel(nn.Module):
    def __init__(self, phones=30, d=16):
        super().__init__()
        self.phone = nn.Embedding(phones, d)
        self.conv = nn.Sequential(
            nn.Conv1d(d, d, 3, padding=1), nn.ReLU(),
            nn.Conv1d(d, d, 3, padding=1), nn.ReLU(),
        )
        self.heads = nn.ModuleDict({name: ProsodyHead(d) for name in LANGS})

    def head_for(self, lang_id):
        return self.heads[f"lang_{int(lang_id)}"]  # EXPECT: tensor-to-python

    def forward(self, phones, lang_id):
        h = self.conv(self.phone(phones).transpose(1, 2)).transpose(1, 2)
        log_dur, pitch = self.head_for(lang_id)(h)
        return log_dur.exp(), pitch


def get_model():
    torch.manual_seed(17)
    return DurationModel().eval()


def get_inputs():
    return torch.randint(0, 30, (2, 8)), torch.tensor(0)


def get_other_inputs():
    return torch.randint(0, 30, (2, 8)), torch.tensor(1)
