"""Ultrasound denoiser whose blending strength is annealed from frame to frame by a schedule."""
import torch
import torch.nn as nn


def cosine_anneal(start, end, steps):
    """returns a function that gives the next value of the schedule"""
    t = 0

    def advance():
        nonlocal t
        frac = 0.5 * (1 + torch.cos(torch.tensor(min(t / steps, 1.0) * torch.pi)))
        t += 1  # EXPECT: closure-counter-state
        return end + (start - end) * frac

    return advance


class SpeckleNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.PReLU(),
            nn.Conv2d(width, width, 3, padding=2, dilation=2), nn.PReLU(),
            nn.Conv2d(width, 1, 3, padding=1),
        )

    def forward(self, x):
        return x - self.body(x)


class UltrasoundDenoiser(nn.Module):
    def __init__(self, warmup_frames=4):
        super().__init__()
        self.net = SpeckleNet()
        self.next_blend = cosine_anneal(0.0, 1.0, warmup_frames)

    def forward(self, frame):
        logf = torch.log1p(frame)
        blend = self.next_blend()  # EXPECT: closure-counter-state
        clean = blend * self.net(logf) + (1 - blend) * logf
        return torch.expm1(clean.clamp(0, 8))


def get_model():
    return UltrasoundDenoiser().eval()


def get_inputs():
    return (torch.rand(1, 1, 20, 20),)
