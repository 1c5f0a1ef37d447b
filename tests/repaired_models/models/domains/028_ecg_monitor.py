"""Bedside ECG monitor: the first segment seen defines the patient's baseline."""
import torch
import torch.nn as nn


class BeatEncoder(nn.Module):
    def __init__(self, leads, ch):
        super().__init__()
        self.c1 = nn.Conv1d(leads, ch, 7, stride=2, padding=3)
        self.c2 = nn.Conv1d(ch, ch, 5, stride=2, padding=2)
        self.norm = nn.GroupNorm(4, ch)

    def forward(self, x):
        return torch.relu(self.norm(self.c2(torch.relu(self.c1(x)))))


class ECGMonitor(nn.Module):
    def __init__(self, leads=3, ch=16):
        super().__init__()
        self.encoder = BeatEncoder(leads, ch)
        self.anomaly = nn.Sequential(nn.Linear(ch, 16), nn.ReLU(), nn.Linear(16, 1))
        self.session = {}

    def baseline(self, segment):
        if "offset" not in self.session:
            self.session["offset"] = segment.mean(dim=-1, keepdim=True)  # EXPECT: first-call-dict-cache
            self.session["scale"] = segment.std(dim=-1, keepdim=True) + 1e-3  # EXPECT: first-call-dict-cache
        return self.session["offset"], self.session["scale"]

    def forward(self, segment):
        offset, scale = self.baseline(segment)
        x = (segment - offset) / scale
        h = self.encoder(x)
        return self.anomaly(h.mean(-1)).sigmoid(), x


def get_model():
    return ECGMonitor().eval()


def get_inputs():
    return (torch.randn(1, 3, 128),)


def get_other_inputs():
    return (2.5 + 0.3 * torch.randn(1, 3, 128),)
