"""Motion detector for a fixed camera: compares each frame with the last key frame."""
import torch
import torch.nn as nn


class MotionNet(nn.Module):
    def __init__(self, ch: int = 3, width: int = 6, size=(10, 12), refresh: float = 0.06):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(ch, width, 3, padding=1), nn.Tanh())
        self.classify = nn.Conv2d(2 * width, 1, 1)
        self.refresh = refresh
        self.key_frame = torch.zeros(1, width, *size)

    def forward(self, frame: torch.Tensor) -> torch.Tensor:
        feat = self.encode(frame)
        delta = (feat - self.key_frame).abs()
        if delta.mean() > self.refresh:  # EXPECT: state-updated-on-data-condition
            self.key_frame = feat.detach()  # EXPECT: previous-frame-attribute
        logits = self.classify(torch.cat((feat, delta), dim=1))
        return torch.sigmoid(logits)


def get_model():
    return MotionNet().eval()


def get_inputs():
    return (torch.rand(1, 3, 10, 12),)


def get_other_inputs():
    return (torch.rand(1, 3, 10, 12) * 0.1 + 0.45,)
