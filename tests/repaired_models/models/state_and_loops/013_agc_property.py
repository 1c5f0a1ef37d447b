"""Automatic gain control in front of a keyword spotter; the gain moves at most one notch per block."""
import torch
import torch.nn as nn


class GainStage(nn.Module):
    LADDER = (0.25, 0.5, 1.0, 2.0, 4.0)

    def __init__(self, target=0.7):
        super().__init__()
        self.target = target
        self._notch = 2

    @property
    def notch(self):
        return self._notch

    @notch.setter
    def notch(self, value):
        self._notch = min(max(value, 0), len(self.LADDER) - 1)

    def forward(self, x):
        y = x * self.LADDER[self.notch]
        level = y.abs().mean().item()
        if level > self.target * 1.5:  # EXPECT: state-updated-on-data-condition
            self.notch -= 1  # EXPECT: property-setter-state
        elif level < self.target / 1.5:  # EXPECT: state-updated-on-data-condition
            self.notch += 1  # EXPECT: property-setter-state
        return y


class KeywordSpotter(nn.Module):
    def __init__(self, n_mels=8, n_words=5):
        super().__init__()
        self.agc = GainStage()
        self.conv = nn.Conv1d(n_mels, 12, 3, padding=1)
        self.mix = nn.Linear(12, 12)
        self.out = nn.Linear(12, n_words)

    def forward(self, mel):
        x = torch.tanh(self.conv(self.agc(mel)))
        x = torch.tanh(self.mix(x.transpose(1, 2)))
        return self.out(x.max(dim=1).values)


def get_model():
    return KeywordSpotter().eval()


def get_inputs():
    return (torch.randn(2, 8, 20) * 0.3,)


def get_other_inputs():
    return (torch.randn(2, 8, 20) * 3,)
