"""Wasserstein critic for sensor windows with bounded projection weights."""
import torch
import torch.nn as nn


class WindowConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv1d(cin, cout, 4, stride=2, padding=1)

    def forward(self, x):
        return nn.functional.leaky_relu(self.conv(x), 0.2)


class Critic(nn.Module):
    def __init__(self, channels=3, width=12, centre_decay=0.8):
        super().__init__()
        self.features = nn.Sequential(WindowConv(channels, width), WindowConv(width, width))
        self.score = nn.Linear(width, 1)
        self.register_buffer("centre", torch.zeros(width))
        self.decay = centre_decay

    def _recentre(self, z):
        batch_mean = z.mean(0)
        self.centre.data = self.decay * self.centre + (1 - self.decay) * batch_mean  # EXPECT: tensor-data-write
        return z - self.centre

    def forward(self, window):
        z = self.features(window).mean(-1)
        z = self._recentre(z)
        return self.score(z).squeeze(-1)


def get_model():
    return Critic().eval()


def get_inputs():
    return (torch.randn(4, 3, 16),)


def get_other_inputs():
    return (torch.randn(4, 3, 16) + 2,)
