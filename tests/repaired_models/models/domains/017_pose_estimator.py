"""Human pose estimator returning a result object with key points and visibility."""
import torch
import torch.nn as nn


class PoseResult:
    """What the tracking code downstream consumes."""

    def __init__(self, keypoints, score, heatmap):
        self.keypoints = keypoints
        self.score = score
        self.heatmap = heatmap

    @property
    def visible(self):
        return self.score > 0.3


def soft_argmax(heat):
    b, k, h, w = heat.shape
    p = heat.flatten(2).softmax(-1).view(b, k, h, w)
    ys = torch.linspace(0, 1, h)
    xs = torch.linspace(0, 1, w)
    y = (p.sum(3) * ys).sum(-1)
    x = (p.sum(2) * xs).sum(-1)
    return torch.stack([x, y], dim=-1), p.flatten(2).amax(-1)


class PoseNet(nn.Module):
    def __init__(self, n_keypoints=17, width=16):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, 2, 1), nn.ReLU(),
        )
        self.up = nn.ConvTranspose2d(2 * width, width, 4, 2, 1)
        self.heat = nn.Conv2d(width, n_keypoints, 1)

    def forward(self, image):
        x = self.down(image)
        heat = self.heat(torch.relu(self.up(x)))
        kpts, score = soft_argmax(heat)
        return PoseResult(kpts, score, heat)  # EXPECT: unregistered-output-type


def get_model():
    return PoseNet().eval()


def get_inputs():
    return (torch.randn(2, 3, 32, 32),)
