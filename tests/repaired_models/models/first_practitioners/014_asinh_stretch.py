"""Galaxy morphology classifier for survey stamps, with the asinh stretch registered as an own operator."""
import torch
from torch import nn


@torch.library.custom_op("survey_stretch::asinh_stretch", mutates_args=())  # EXPECT: custom-op-without-fake
def asinh_stretch(flux: torch.Tensor, softening: float) -> torch.Tensor:
    return torch.asinh(flux / softening) * softening


class Stretch(nn.Module):
    def __init__(self, softening=0.2):
        super().__init__()
        self.softening = softening

    def extra_repr(self):
        return f"softening={self.softening}"

    def forward(self, flux):
        return asinh_stretch(flux, self.softening)


class MorphologyNet(nn.Sequential):
    def __init__(self, bands=5, classes=6):
        super().__init__(
            Stretch(),
            nn.Conv2d(bands, 16, 3, padding=1),
            nn.GELU(),
            nn.AvgPool2d(2),
            nn.Conv2d(16, 24, 3, padding=1),
            nn.GELU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(24, classes),
        )


def get_model():
    return MorphologyNet().eval()


def get_inputs():
    return (torch.rand(2, 5, 16, 16) * 10,)
