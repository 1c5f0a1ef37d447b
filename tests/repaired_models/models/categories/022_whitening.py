"""Cholesky whitening with extra damping for covariance matrices that need it."""
import torch
from torch import nn


class Whitening(nn.Module):
    def __init__(self, d=4, damping=0.1):
        super().__init__()
        self.d = d
        self.damping = damping
        self.mix = nn.Linear(d, d)

    def factor(self, cov):
        try:  # EXPECT: exception-control-flow
            return torch.linalg.cholesky(cov)  # EXPECT: exception-control-flow
        except torch.linalg.LinAlgError:  # EXPECT: exception-control-flow
            eye = torch.eye(self.d, dtype=cov.dtype)
            shift = cov.diagonal().abs().sum() + self.damping
            return torch.linalg.cholesky(cov + shift * eye)

    def forward(self, x, cov):
        low = self.factor(cov)
        white = torch.linalg.solve_triangular(low, x.T, upper=False).T
        return self.mix(white)


def get_model():
    return Whitening().eval()


def get_inputs():
    a = torch.randn(4, 4) * 0.3
    return torch.randn(6, 4), a @ a.T + torch.eye(4)


def get_other_inputs():
    a = torch.randn(4, 4) * 0.3
    return torch.randn(6, 4), a @ a.T - 2 * torch.eye(4)
