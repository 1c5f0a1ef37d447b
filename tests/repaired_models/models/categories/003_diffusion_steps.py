"""Toy denoiser which applies as many denoising rounds as the request asks for."""
import torch
import torch.nn as nn

MAX_ROUNDS = 8


class NoiseNet(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.a = nn.Conv2d(ch, 8, 3, padding=1)
        self.b = nn.Conv2d(8, ch, 3, padding=1)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


class Denoiser(nn.Module):
    def __init__(self, ch=2, rate=0.3):
        super().__init__()
        self.eps = NoiseNet(ch)
        self.rate = rate

    def forward(self, img, rounds):
        """rounds: 0-d int64, between 0 and MAX_ROUNDS"""
        n = rounds.clamp(0, MAX_ROUNDS)
        for _ in range(int(n)):  # EXPECT: data-dependent-loop
            img = img - self.rate * self.eps(img)
        return img.clamp(-3, 3)


def get_model():
    return Denoiser().eval()


def get_inputs():
    return torch.randn(1, 2, 6, 6), torch.randint(2, 4, ())


def get_other_inputs():
    return torch.randn(1, 2, 6, 6), torch.randint(5, 8, ())
