"""Orbit propagator: learned drag correction on top of a Kepler equation solve."""
import torch
import torch.nn as nn


class DragCorrection(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, elements):
        return 1e-2 * self.net(elements)


class KeplerPropagator(nn.Module):
    def __init__(self, tol=1e-5, max_iter=30):
        super().__init__()
        self.drag = DragCorrection()
        self.tol = tol
        self.max_iter = max_iter

    def eccentric_anomaly(self, mean_anom, ecc):
        e_anom = mean_anom + ecc * torch.sin(mean_anom)
        for _ in range(self.max_iter):
            f = e_anom - ecc * torch.sin(e_anom) - mean_anom
            step = f / (1 - ecc * torch.cos(e_anom))
            e_anom = e_anom - step
            converged = step.abs().max() < self.tol
            if converged:  # EXPECT: convergence-break
                break
        return e_anom

    def forward(self, semi_major, ecc, mean_anom):
        corr = self.drag(torch.stack([semi_major, ecc, mean_anom], dim=-1))
        a = semi_major * (1 + corr[..., 0])
        m = torch.remainder(mean_anom + corr[..., 1], 2 * torch.pi)
        e_anom = self.eccentric_anomaly(m, ecc)
        x = a * (torch.cos(e_anom) - ecc)
        y = a * torch.sqrt(1 - ecc**2) * torch.sin(e_anom)
        return torch.stack([x, y], dim=-1)


def get_model():
    return KeplerPropagator().eval()


def get_inputs():
    return 1 + torch.rand(16), 0.6 * torch.rand(16), 6.28 * torch.rand(16)


def get_other_inputs():
    return 1 + torch.rand(16), 0.01 * torch.rand(16), 6.28 * torch.rand(16)
