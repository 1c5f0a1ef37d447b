"""Face verification: mean colour statistics of the detected face region added to an embedding."""
import torch
from torch import nn


class RegionStats(nn.Module):
    def forward(self, img, box):
        x0, y0, x1, y1 = (int(v) for v in box)  # EXPECT: box-numbers-as-slice
        region = img[:, y0:y1, x0:x1]  # EXPECT: box-numbers-as-slice
        mean = region.mean((1, 2))
        return torch.cat([mean, region.amax((1, 2)), (region - mean[:, None, None]).abs().mean((1, 2))])


class FaceVerifier(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, dim, 3, stride=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(0)
        )
        self.stats = RegionStats()
        self.mix = nn.Bilinear(dim, 9, dim)

    def embed(self, img, box):
        return nn.functional.normalize(self.mix(self.backbone(img), self.stats(img, box)), dim=0)

    def forward(self, img, box, reference):
        return self.embed(img, box) @ nn.functional.normalize(reference, dim=-1).T


def get_model():
    return FaceVerifier().eval()


def get_inputs():
    return torch.rand(3, 24, 24), torch.tensor([3, 5, 15, 19]), torch.randn(4, 16)


def get_other_inputs():
    return torch.rand(3, 24, 24), torch.tensor([0, 2, 9, 22]), torch.randn(4, 16)
