"""Speech enhancement mask net; optional layers may hand their input through untouched."""
import torch
import torch.nn as nn


def build_layer(kind, ch):
    return {
        "conv": lambda: nn.Conv1d(ch, ch, 3, padding=1),
        "identity": nn.Identity,
        "norm": lambda: nn.GroupNorm(1, ch),
    }[kind]()


def detach_alias(out, src):
    """in-place work on `out` must not reach `src`"""
    if out.data_ptr() == src.data_ptr():  # EXPECT: python-object-identity
        return out.clone()
    return out


class MaskNet(nn.Module):
    def __init__(self, bins=16, plan=("norm", "conv", "identity", "conv")):
        super().__init__()
        self.layers = nn.ModuleList([build_layer(k, bins) for k in plan])
        self.mask = nn.Conv1d(bins, bins, 1)

    def forward(self, spec):
        x = spec
        for layer in self.layers:
            y = detach_alias(layer(x), x)
            y.mul_(0.5).add_(x)
            x = y
        return spec * torch.sigmoid(self.mask(x))


def get_model():
    return MaskNet().eval()


def get_inputs():
    return (torch.randn(2, 16, 10),)
