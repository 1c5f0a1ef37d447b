"""Video anomaly score from the change of the bottleneck between frames."""
import torch
from torch import nn


class FrameDelta(nn.Module):
    def __init__(self, c=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, c, 3, stride=2, padding=1), nn.Tanh())
        self.dec = nn.ConvTranspose2d(c, 1, 4, stride=2, padding=1)
        self.scale = nn.Parameter(torch.tensor(2.0))
        self._seen = []
        self.enc.register_forward_hook(self._remember)

    def _remember(self, module, args, out):
        self._seen.append(out.detach())
        if len(self._seen) > 2:
            self._seen.pop(0)

    def forward(self, frame):
        z = self.enc(frame)
        rec = self.dec(z)
        delta = (self._seen[-1] - self._seen[0]).abs().mean()
        return (rec - frame).pow(2).mean() + self.scale * delta


def get_model():
    return FrameDelta().eval()


def get_inputs():
    return (torch.rand(1, 1, 8, 8),)


def get_other_inputs():
    return (torch.rand(1, 1, 8, 8) * 3,)
