"""One denoising step with classifier-free guidance; the caller picks the guidance strength."""
import torch
import torch.nn as nn


class FiLM(nn.Module):
    def __init__(self, d_cond, ch):
        super().__init__()
        self.proj = nn.Linear(d_cond, 2 * ch)

    def forward(self, x, c):
        scale, shift = self.proj(c)[..., None, None].chunk(2, dim=1)
        return x * (1 + scale) + shift


class Denoiser(nn.Module):
    def __init__(self, ch=8, d_cond=6):
        super().__init__()
        self.inp = nn.Conv2d(1, ch, 3, padding=1)
        self.film = FiLM(d_cond, ch)
        self.out = nn.Conv2d(ch, 1, 3, padding=1)
        self.null_cond = nn.Parameter(torch.zeros(d_cond))

    def eps(self, x, c):
        return self.out(torch.nn.functional.silu(self.film(self.inp(x), c)))

    def forward(self, x_t, cond, guidance: float, sigma: float = 0.5):  # EXPECT: python-scalar-input
        e_c = self.eps(x_t, cond)
        e_u = self.eps(x_t, self.null_cond.expand_as(cond))
        e = e_u + guidance * (e_c - e_u)
        return x_t - sigma * e


def get_model():
    return Denoiser().eval()


def get_inputs():
    return torch.randn(2, 1, 8, 8), torch.randn(2, 6), 1.5, 0.5


def get_other_inputs():
    return torch.randn(2, 1, 8, 8), torch.randn(2, 6), 4.0, 0.25
