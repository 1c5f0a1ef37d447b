"""Kernel density features for anomaly scores; bandwidth by Silverman's rule."""
import math
import torch
from torch import nn


def silverman(x):
    n = x.shape[0]
    sd = x.std().item()  # EXPECT: tensor-to-python
    return math.exp(math.log(max(1.06 * sd, 1e-4)) - math.log(n) / 5.0)  # EXPECT: tensor-to-python


class KDEScore(nn.Module):
    def __init__(self, d_in, d_latent, n_ref):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d_in, 16), nn.LeakyReLU(0.1), nn.Linear(16, d_latent))
        self.register_buffer("reference", torch.randn(n_ref, d_in))
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        z, ref = self.enc(x), self.enc(self.reference)
        h = silverman(z)
        d2 = torch.cdist(z, ref).square()
        logp = torch.logsumexp(-d2 / (2 * h * h), dim=1) - math.log(ref.shape[0])
        return -self.scale * logp


def get_model():
    torch.manual_seed(16)
    return KDEScore(d_in=6, d_latent=3, n_ref=20).eval()


def get_inputs():
    return (torch.randn(10, 6),)


def get_other_inputs():
    return (torch.randn(10, 6) * 4.0 + 1.0,)
