"""Gaussian-process head on learned features (few-shot regression)."""
import torch
import torch.nn as nn


class FeatureMap(nn.Module):
    def __init__(self, d_in, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_in, 24), nn.Tanh(), nn.Linear(24, d))

    def forward(self, x):
        return self.net(x)


def rbf(a, b, ls):
    return torch.exp(-torch.cdist(a, b).pow(2) / (2 * ls ** 2))


class DeepGP(nn.Module):
    jitter = 1e-2

    def __init__(self, d_in=6, d=4):
        super().__init__()
        self.phi = FeatureMap(d_in, d)
        self.log_ls = nn.Parameter(torch.tensor(-1.0))

    def _factor(self, k):
        try:
            return torch.linalg.cholesky(k)  # EXPECT: exception-control-flow
        except RuntimeError:  # EXPECT: exception-control-flow
            return torch.linalg.cholesky(k + self.jitter * torch.eye(k.shape[-1]))

    def forward(self, x_s, y_s, x_q):
        ls = self.log_ls.exp()
        f_s, f_q = self.phi(x_s), self.phi(x_q)
        chol = self._factor(rbf(f_s, f_s, ls) - 1e-5 * torch.eye(x_s.shape[0]))
        alpha = torch.cholesky_solve(y_s.unsqueeze(-1), chol)
        return (rbf(f_q, f_s, ls) @ alpha).squeeze(-1)


def get_model():
    return DeepGP().eval()


def get_inputs():
    return torch.randn(5, 6) * 3, torch.randn(5), torch.randn(3, 6)


def get_other_inputs():
    row = torch.randn(1, 6)
    return row.repeat(5, 1), torch.randn(5), torch.randn(3, 6)
