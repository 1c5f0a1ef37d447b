"""Follow-up radiograph comparison: the first film of every format becomes the template for later ones."""
import torch
from torch import nn


class TemplateStore:
    def __init__(self):
        self._films = {}

    def lookup(self, film):
        key = tuple(film.shape[-2:])
        if key not in self._films:
            self._films[key] = film.detach()  # EXPECT: first-call-cache
        return self._films[key]


class FollowUp(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.encode = nn.Sequential(nn.Conv2d(1, width, 3, stride=2, padding=1), nn.ReLU())
        self.compare = nn.Conv2d(2 * width, 1, 1)
        self.templates = TemplateStore()

    def forward(self, film):
        now = self.encode(film)
        before = self.encode(self.templates.lookup(film))
        change = self.compare(torch.cat([now - before, now * before], 1))
        return change.sigmoid(), (now - before).pow(2).mean((1, 2, 3))


def get_model():
    return FollowUp().eval()


def get_inputs():
    return (torch.rand(1, 1, 16, 12),)


def get_other_inputs():
    return (torch.rand(1, 1, 16, 12).pow(3),)
