"""Gaussian-process layer with a deep kernel; jitter only where the factorisation fails."""
import torch
from torch import nn


class DeepKernel(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 16), nn.Tanh(), nn.Linear(16, d_out))
        self.log_ls = nn.Parameter(torch.zeros(d_out))

    def forward(self, a, b):
        a = self.net(a) / self.log_ls.exp()
        b = self.net(b) / self.log_ls.exp()
        d2 = (a[:, None] - b[None]).square().sum(-1)
        return torch.exp(-0.5 * d2)


def safe_cholesky(k, noise):
    k = k + noise
    try:
        return torch.linalg.cholesky(k)
    except RuntimeError:  # EXPECT: exception-control-flow
        return torch.linalg.cholesky(k + 0.1 * torch.eye(k.shape[-1]) + noise.abs())


class GPRegressor(nn.Module):
    def __init__(self, d_in=3):
        super().__init__()
        self.kernel = DeepKernel(d_in, 2)

    def forward(self, x, y, noise, x_new):
        L = safe_cholesky(self.kernel(x, x), torch.diag(noise))
        alpha = torch.cholesky_solve(y.unsqueeze(-1), L)
        ks = self.kernel(x_new, x)
        mean = (ks @ alpha).squeeze(-1)
        v = torch.linalg.solve_triangular(L, ks.T, upper=False)
        return mean, 1.0 - v.square().sum(0)


def get_model():
    torch.manual_seed(45)
    return GPRegressor().eval()


def get_inputs():
    return torch.randn(6, 3), torch.randn(6), torch.full((6,), 0.3), torch.randn(2, 3)


def get_other_inputs():
    return torch.randn(6, 3), torch.randn(6), torch.full((6,), -1.2), torch.randn(2, 3)
