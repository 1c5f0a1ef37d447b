"""A model that returns an object of a class that export cannot flatten."""

import torch
from torch import nn


class Cache:
    def __init__(self, keys):
        self.keys = keys


class ReturnsCache(nn.Module):
    def build(self, x):
        return Cache(x + 1)

    def forward(self, x):
        return x, self.build(x)

    @staticmethod
    def inputs():
        return (torch.ones(3),)
