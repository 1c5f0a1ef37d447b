"""Stereo matcher where a hook alternates the feature normalisation of left and right frame."""
import torch
import torch.nn as nn


class FrameParity:
    """forward hook: the stream delivers left, right, left, right..."""

    def __init__(self, gains=(1.0, 0.6)):
        self.gains = gains
        self.seen = 0

    def __call__(self, module, args, output):
        gain = self.gains[self.seen % len(self.gains)]  # EXPECT: hooks
        self.seen += 1  # EXPECT: hooks
        return output * gain / output.norm(dim=1, keepdim=True).clamp_min(1e-6)


class StereoFeatures(nn.Module):
    def __init__(self, ch=10):
        super().__init__()
        self.stem = nn.Conv2d(1, ch, 5, stride=2, padding=2)
        self.mix = nn.Conv2d(ch, ch, 1)
        self.descriptor = nn.Conv2d(ch, ch, 3, padding=1)
        self.descriptor.register_forward_hook(FrameParity())  # EXPECT: hooks

    def forward(self, frame):
        h = torch.relu(self.stem(frame))
        h = h + self.mix(h)
        d = self.descriptor(h)
        return d, d.flatten(2).amax(-1)


def get_model():
    return StereoFeatures().eval()


def get_inputs():
    return (torch.randn(1, 1, 16, 24),)
