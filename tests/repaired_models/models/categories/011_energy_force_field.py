"""Energy network that returns the forces on the atoms too."""
import torch
import torch.nn as nn


class ForceField(nn.Module):
    def __init__(self, n_atoms=4, hidden=8):
        super().__init__()
        self.l1 = nn.Linear(n_atoms * 3, hidden)
        self.l2 = nn.Linear(hidden, 1)

    def energy(self, pos):
        h = torch.tanh(self.l1(pos.flatten(1)))
        return self.l2(h).sum()

    def forward(self, pos):
        with torch.enable_grad():
            p = pos.detach().clone().requires_grad_(True)  # EXPECT: autograd-in-forward
            e = self.energy(p)
            (g,) = torch.autograd.grad(e, p)  # EXPECT: autograd-in-forward
        return e.detach(), -g


def get_model():
    return ForceField().eval()


def get_inputs():
    return (torch.randn(2, 4, 3),)
