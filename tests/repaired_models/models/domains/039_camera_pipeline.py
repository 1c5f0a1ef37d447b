"""Camera frame classifier that takes frames from two capture back ends with different memory layout."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class ColourCorrect(nn.Module):
    def __init__(self):
        super().__init__()
        self.ccm = nn.Parameter(torch.eye(3) + 0.1 * torch.randn(3, 3))

    def forward(self, img):
        return torch.einsum("ij,bjhw->bihw", self.ccm, img).clamp(0, 1)


def from_capture(frame):
    """The V4L back end delivers transposed views that are stored column first and in BGR order."""
    if not frame.is_contiguous():  # EXPECT: layout-dependent-branch
        frame = frame.flip(1)
    return frame.contiguous()


class FrameClassifier(nn.Module):
    def __init__(self, width=12, n_cls=7):
        super().__init__()
        self.colour = ColourCorrect()
        self.c1 = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.c2 = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.head = nn.Linear(2 * width, n_cls)

    def forward(self, frame):
        x = self.colour(from_capture(frame))
        x = F.silu(self.c2(F.silu(self.c1(x))))
        return self.head(x.mean((2, 3)))


def get_model():
    return FrameClassifier().eval()


def get_inputs():
    return (torch.rand(1, 3, 24, 24),)


def get_other_inputs():
    return (torch.rand(1, 3, 24, 24).transpose(2, 3),)
