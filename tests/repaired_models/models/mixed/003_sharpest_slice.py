"""CT triage: pick the sharpest of three neighbouring slices, then classify it."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Residual(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.a = nn.Conv2d(ch, ch, 3, padding=1)
        self.b = nn.Conv2d(ch, ch, 3, padding=1)
        self.norm = nn.GroupNorm(4, ch)

    def forward(self, x):
        return x + self.b(F.gelu(self.a(self.norm(x))))


class SliceTriage(nn.Module):
    LAPLACE = [[0.0, 1.0, 0.0], [1.0, -4.0, 1.0], [0.0, 1.0, 0.0]]

    def __init__(self, ch=8, findings=5):
        super().__init__()
        self.register_buffer("kernel", torch.tensor(self.LAPLACE)[None, None])
        self.lift = nn.Conv2d(1, ch, 5, stride=2, padding=2)
        self.blocks = nn.Sequential(*[Residual(ch) for _ in range(2)])
        self.head = nn.Linear(ch, findings)

    def sharpness(self, img):
        return F.conv2d(img, self.kernel).var()

    def forward(self, volume):
        slices = list(volume.split(1, dim=1))
        best = max(slices, key=self.sharpness)  # EXPECT: data-dependent-branch
        h = self.blocks(self.lift(best))
        return torch.sigmoid(self.head(h.mean(dim=(2, 3))))


def get_model():
    torch.manual_seed(4)
    return SliceTriage().eval()


def _stack(gains):
    return torch.randn(1, 3, 24, 24) * torch.tensor(gains).view(1, 3, 1, 1)


def get_inputs():
    return (_stack([1.0, 4.0, 2.0]),)


def get_other_inputs():
    return (_stack([3.0, 0.5, 1.0]),)
