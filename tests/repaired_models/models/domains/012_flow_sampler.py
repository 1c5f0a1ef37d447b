"""Lattice field sampler: coupling flow on a scalar field with a clamped boundary."""
import torch
import torch.nn as nn


class Coupling(nn.Module):
    def __init__(self, parity, width=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, padding_mode="circular"), nn.Tanh(),
            nn.Conv2d(width, 2, 3, padding=1, padding_mode="circular"),
        )
        self.parity = parity

    def forward(self, phi):
        h, w = phi.shape[-2:]
        board = (torch.arange(h).unsqueeze(1) + torch.arange(w)) % 2 == self.parity
        s, t = self.net(phi * board).chunk(2, dim=1)
        s = torch.tanh(s) * ~board
        return phi * s.exp() + t * ~board, s.sum((1, 2, 3))


def clamp_boundary(phi, value=0.0):
    """Dirichlet boundary; goes through .data so that autograd does not see the write."""
    phi.data[..., 0, :] = value  # EXPECT: write-through-data
    phi.data[..., -1, :] = value  # EXPECT: write-through-data
    return phi


class LatticeFlow(nn.Module):
    def __init__(self, depth=4, mass=0.5):
        super().__init__()
        self.layers = nn.ModuleList([Coupling(k % 2) for k in range(depth)])
        self.mass = mass

    def action(self, phi):
        kin = (phi - phi.roll(1, -1)) ** 2 + (phi - phi.roll(1, -2)) ** 2
        return (0.5 * kin + self.mass * phi**2).sum((1, 2, 3))

    def forward(self, phi):
        phi = clamp_boundary(phi)
        log_det = 0.0
        for layer in self.layers:
            phi, ld = layer(phi)
            log_det = log_det + ld
        return phi, self.action(phi) - log_det


def get_model():
    return LatticeFlow().eval()


def get_inputs():
    return (torch.randn(2, 1, 8, 8),)
