"""Audio front end that filters noisy clips only."""
import torch
from torch import nn


class FrontEnd(nn.Module):
    def __init__(self, limit=1.0):
        super().__init__()
        self.limit = limit
        self.filt = nn.Conv1d(1, 1, 5, padding=2)
        self.head = nn.Linear(20, 3)

    def forward(self, clip):
        def noisy(c):
            return self.filt(c)

        def clean(c):
            return c  # EXPECT: higher-order-op

        clip = torch.cond(clip.var() > self.limit, noisy, clean, (clip,))  # EXPECT: higher-order-op
        return self.head(clip.squeeze(1))


def get_model():
    return FrontEnd().eval()


def get_inputs():
    return (torch.randn(2, 1, 20) * 3,)


def get_other_inputs():
    return (torch.randn(2, 1, 20) * 0.2,)
