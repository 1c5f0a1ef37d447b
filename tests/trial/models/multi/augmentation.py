"""Augmentation that lives in forward."""

import random
import time

import torch
from torch import nn


class Augment(nn.Module):
    def forward(self, image):
        shift = random.randint(1, 1000)  # error: python-random
        image = image + shift / 1000
        image = image * (1 + time.time() % 1)  # error: clock-or-environment
        levels = image.detach().numpy().max()  # error: numpy-round-trip
        image = image / float(levels)
        image.data.clamp_(0, 1)  # error: tensor-data-access
        print("mean", image.shape)  # error: side-effect-in-forward
        return image


model = Augment().eval()
example_args = (torch.rand(3, 4, 4),)
