"""Image-to-image denoiser: the number of refinement steps comes in with the request."""
import torch
from torch import nn

NOISE_LEVELS = [1.0, 0.8, 0.62, 0.45, 0.3, 0.18, 0.09, 0.03]


class Refiner(nn.Module):
    def __init__(self, ch=2, width=6):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(ch + 1, width, 3, padding=1), nn.SiLU(), nn.Conv2d(width, ch, 3, padding=1)
        )
        self.register_buffer("levels", torch.tensor(NOISE_LEVELS))

    def denoise(self, x, level):
        plane = level.expand(x.shape[0], 1, *x.shape[2:])
        return self.body(torch.cat([x, plane], dim=1))

    def forward(self, x, n_steps):
        """n_steps: scalar int tensor, 1 .. 8"""
        steps = int(n_steps)  # EXPECT: loop-count-from-tensor
        start = len(NOISE_LEVELS) - steps
        for i in range(start, len(NOISE_LEVELS)):  # EXPECT: loop-count-from-tensor
            level = self.levels[i]
            x = x - 0.5 * level * self.denoise(x, level)
        return x.clamp(-3, 3)


def get_model():
    return Refiner().requires_grad_(False).eval()


def get_inputs():
    return torch.randn(1, 2, 6, 6), torch.tensor(3)


def get_other_inputs():
    return torch.randn(1, 2, 6, 6), torch.tensor(6)
