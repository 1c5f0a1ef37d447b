"""Land cover segmentation with a forward hook that alternates the dilation branch for temporal ensembling."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ASPP(nn.Module):
    def __init__(self, ch, rates=(1, 2, 4)):
        super().__init__()
        self.branches = nn.ModuleList([nn.Conv2d(ch, ch, 3, padding=r, dilation=r) for r in rates])
        self.merge = nn.Conv2d(ch * len(rates), ch, 1)

    def forward(self, x):
        return self.merge(torch.cat([F.relu(b(x)) for b in self.branches], dim=1))


class BranchAlternator:
    """Scales one branch per call, round robin."""

    def __init__(self, n, gain):
        self.calls = 0
        self.n, self.gain = n, gain

    def hook_for(self, k):
        def hook(module, args, output):
            chosen = self.calls // self.n % self.n == k
            self.calls += 1  # EXPECT: stateful-forward-hook
            return output * self.gain if chosen else output  # EXPECT: stateful-forward-hook
        return hook


class LandCover(nn.Module):
    def __init__(self, bands=6, ch=12, n_cls=5, alternate=True):
        super().__init__()
        self.stem = nn.Conv2d(bands, ch, 3, stride=2, padding=1)
        self.aspp = ASPP(ch)
        self.cls = nn.Conv2d(ch, n_cls, 1)
        if alternate:
            alt = BranchAlternator(len(self.aspp.branches), 1.5)
            for k, b in enumerate(self.aspp.branches):
                b.register_forward_hook(alt.hook_for(k))  # EXPECT: stateful-forward-hook

    def forward(self, tile):
        x = self.aspp(F.relu(self.stem(tile)))
        return F.interpolate(self.cls(x), scale_factor=2.0, mode="bilinear")


def get_model():
    return LandCover().eval()


def get_inputs():
    return (torch.randn(1, 6, 16, 16),)
