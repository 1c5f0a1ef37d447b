"""Audio tagger with test-time band dropping: averages over a few randomly silenced mel bands."""
import random

import torch
import torch.nn as nn


class MelCNN(nn.Module):
    def __init__(self, n_tags):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.head = nn.Linear(16, n_tags)

    def forward(self, mel):
        return self.head(self.net(mel))


class BandDropTagger(nn.Module):
    def __init__(self, n_tags=10, n_passes=3, max_band=12):
        super().__init__()
        self.cnn = MelCNN(n_tags)
        self.n_passes = n_passes
        self.max_band = max_band

    def drop_band(self, mel):
        n_mels = mel.shape[2]
        width = random.randint(4, self.max_band)  # EXPECT: python-random
        start = random.randrange(n_mels - width)  # EXPECT: python-random
        out = mel.clone()
        out[:, :, start : start + width] = mel.amin()
        return out

    def forward(self, mel):
        views = [self.cnn(self.drop_band(mel)) for _ in range(self.n_passes)]
        logits = torch.stack(views)
        return logits.mean(0).sigmoid(), logits.var(0)


def get_model():
    return BandDropTagger().eval()


def get_inputs():
    return (3 * torch.randn(2, 1, 32, 20),)
