"""Kalman update of a constant-velocity target; far detections are rejected by a Mahalanobis gate."""
from typing import NamedTuple
import torch
from torch import nn


class Track(NamedTuple):
    mean: torch.Tensor
    cov: torch.Tensor


class GatedKalman(nn.Module):
    def __init__(self, dt=0.1, gate=9.21):
        super().__init__()
        f = torch.eye(4)
        f[0, 2] = f[1, 3] = dt
        self.register_buffer("F", f)
        self.register_buffer("H", torch.eye(2, 4))
        self.log_q = nn.Parameter(torch.full((4,), -2.0))
        self.log_r = nn.Parameter(torch.full((2,), -1.0))
        self.gate = gate

    def predict(self, trk):
        return Track(self.F @ trk.mean, self.F @ trk.cov @ self.F.T + torch.diag(self.log_q.exp()))

    def forward(self, mean, cov, z):
        prior = self.predict(Track(mean, cov))
        y = z - self.H @ prior.mean
        S = self.H @ prior.cov @ self.H.T + torch.diag(self.log_r.exp())
        d2 = y @ torch.linalg.solve(S, y)
        if d2.item() > self.gate:  # EXPECT: early-return-on-item
            return prior, d2
        K = torch.linalg.solve(S, self.H @ prior.cov).T
        post = Track(prior.mean + K @ y, prior.cov - K @ S @ K.T)
        return post, d2


def get_model():
    return GatedKalman().eval()


def get_inputs():
    return torch.randn(4) * 0.1, torch.eye(4), torch.randn(2) * 0.2


def get_other_inputs():
    return torch.randn(4) * 0.1, torch.eye(4), torch.randn(2) + 20
