"""Latent decoder that mixes a reproducible noise pattern into the code."""
import torch
from torch import nn


class NoiseDecoder(nn.Module):
    def __init__(self, z=4, noise=4, seed=11):
        super().__init__()
        self.noise = noise
        self.seed = seed
        self.fc = nn.Linear(z + noise, 12)
        self.up = nn.ConvTranspose1d(3, 2, 4, stride=2, padding=1)

    def pattern(self, n):
        with torch.random.fork_rng(devices=[]):  # EXPECT: random-torch-state
            torch.manual_seed(self.seed)  # EXPECT: random-torch-state
            return torch.randn(1, self.noise).expand(n, -1)  # EXPECT: random-torch-state

    def forward(self, code):
        h = torch.cat([code, self.pattern(code.shape[0])], dim=1)
        h = torch.relu(self.fc(h)).view(-1, 3, 4)
        return self.up(h)


def get_model():
    return NoiseDecoder().eval()


def get_inputs():
    return (torch.randn(3, 4),)
