"""Kalman filter with learned noise; a scope object tightens the process noise for a few steps."""
import torch
from torch import nn


class BurnIn:
    """Inside the scope the process noise is inflated; less with each entry."""

    def __init__(self, factor=4.0):
        self.factor = factor

    def __enter__(self):
        return self.factor

    def __exit__(self, *exc):
        self.factor = max(1.0, self.factor / 2.0)  # EXPECT: context-manager
        return False


class LearnedKalman(nn.Module):
    def __init__(self, dim=2, obs=1):
        super().__init__()
        self.log_q = nn.Parameter(torch.full((dim,), -3.0))
        self.log_r = nn.Parameter(torch.full((obs,), -1.0))
        self.register_buffer("F", torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
        self.register_buffer("H", torch.tensor([[1.0, 0.0]]))
        self.burn_in = BurnIn()

    def step(self, m, P, z, inflate):
        Q = torch.diag(self.log_q.exp()) * inflate
        R = torch.diag(self.log_r.exp())
        m = self.F @ m
        P = self.F @ P @ self.F.T + Q
        S = self.H @ P @ self.H.T + R
        K = P @ self.H.T @ torch.linalg.inv(S)
        return m + K @ (z - self.H @ m), P - K @ self.H @ P

    def forward(self, zs):
        m, P = torch.zeros(2), torch.eye(2)
        track = []
        with self.burn_in as inflate:  # EXPECT: context-manager
            for z in zs.unbind(0):
                m, P = self.step(m, P, z, inflate)
                track.append(m)
        return torch.stack(track), P


def get_model():
    torch.manual_seed(43)
    return LearnedKalman().eval()


def get_inputs():
    return (torch.randn(6, 1),)


def get_other_inputs():
    return (torch.randn(6, 1) * 3,)
