"""Point-cloud-like 1d network whose parent moves the neighbourhood radius of an inner block after each scan."""
import torch
from torch import nn


class Neighbourhood(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.radius = 1
        self.mix = nn.Linear(2 * c, c)

    def forward(self, pts):
        shifted = torch.roll(pts, shifts=self.radius, dims=1)
        return torch.relu(self.mix(torch.cat([pts, shifted - pts], dim=-1)))


class Stage(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.local = Neighbourhood(c)
        self.norm = nn.LayerNorm(c)

    def forward(self, pts):
        return self.norm(pts + self.local(pts))


class ScanNet(nn.Module):
    def __init__(self, c=6, radii=4):
        super().__init__()
        self.radii = radii
        self.lift = nn.Linear(3, c)
        self.stage = Stage(c)
        self.head = nn.Linear(c, 2)

    def forward(self, xyz):
        z = self.stage(self.lift(xyz))
        block = self.stage.local
        block.radius = block.radius % self.radii + 1  # EXPECT: submodule-state-set-by-parent
        return self.head(z)


def get_model():
    return ScanNet().eval()


def get_inputs():
    return (torch.randn(2, 9, 3),)
