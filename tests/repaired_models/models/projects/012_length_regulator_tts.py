"""Duration-expanding text-to-mel front end (length regulator)."""
import torch
import torch.nn as nn


class PhonemeEncoder(nn.Module):
    def __init__(self, n_phones, d):
        super().__init__()
        self.emb = nn.Embedding(n_phones, d)
        self.conv = nn.Conv1d(d, d, 3, padding=1)

    def forward(self, ph):
        h = self.emb(ph).transpose(1, 2)
        return (h + torch.relu(self.conv(h))).transpose(1, 2)


class LengthRegulator(nn.Module):
    """expand every phoneme state by its number of frames, pad to the common frame budget"""

    frames = 40

    def forward(self, h, durations):
        rows = []
        for states, dur in zip(h, durations.tolist()):
            pieces = [s.expand(n, -1) for s, n in zip(states, dur)]
            row = torch.cat(pieces)
            missing = self.frames - sum(dur)  # EXPECT: data-dependent-shape
            rows.append(torch.cat([row, row.new_zeros(missing, row.shape[-1])]) if missing > 0 else row[: self.frames])  # EXPECT: data-dependent-shape
        return torch.stack(rows)


class TinyTTS(nn.Module):
    def __init__(self, n_phones=20, d=16, n_mels=10):
        super().__init__()
        self.encoder = PhonemeEncoder(n_phones, d)
        self.regulate = LengthRegulator()
        self.decoder = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, n_mels))

    def forward(self, phones, durations):
        h = self.encoder(phones)
        frames = self.regulate(h, durations)
        return self.decoder(frames)


def get_model():
    return TinyTTS().eval()


def get_inputs():
    return torch.randint(0, 20, (2, 6)), torch.randint(1, 5, (2, 6))


def get_other_inputs():
    return torch.randint(0, 20, (2, 6)), torch.randint(7, 11, (2, 6))
