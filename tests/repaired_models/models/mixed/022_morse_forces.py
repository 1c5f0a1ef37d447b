"""Coarse-grained polymer: Morse pair energy with species-dependent depth, force on each bead."""
import torch
from torch import nn
import torch.nn.functional as F


class PairTable(nn.Module):
    """Symmetric positive parameter for each pair of bead species."""

    def __init__(self, species, start):
        super().__init__()
        self.raw = nn.Parameter(torch.full((species, species), start) + 0.1 * torch.randn(species, species))

    def forward(self, kind):
        table = F.softplus(self.raw + self.raw.T)
        return table[kind[:, None], kind[None, :]]


class MorseField(nn.Module):
    def __init__(self, species=3):
        super().__init__()
        self.depth = PairTable(species, 0.3)
        self.stiff = PairTable(species, 0.2)
        self.rest = PairTable(species, 0.6)

    def energy(self, pos, kind):
        diff = pos[:, None] - pos[None]
        off = 1.0 - torch.eye(pos.shape[0])
        r = (diff.square().sum(-1) + (1.0 - off)).sqrt()
        pull = 1.0 - torch.exp(-self.stiff(kind) * (r - self.rest(kind)))
        return 0.5 * (off * self.depth(kind) * pull.square()).sum()

    def forward(self, positions, kind):
        pos = positions.detach().clone().requires_grad_(True)  # EXPECT: autograd-in-forward
        e = self.energy(pos, kind)
        (grad,) = torch.autograd.grad(e, pos)  # EXPECT: autograd-in-forward
        return e.detach(), -grad


def get_model():
    torch.manual_seed(22)
    return MorseField().eval()


def get_inputs():
    return torch.randn(5, 3) * 1.5, torch.randint(0, 3, (5,))


def get_other_inputs():
    return torch.randn(5, 3) * 0.8, torch.randint(0, 3, (5,))
