"""Seed every source of random numbers, the same in every process."""

from __future__ import annotations

import random
import sys

import torch


def seed(number: int) -> None:
    """The same randomness for torch, Python and NumPy (if the target uses it)."""
    random.seed(number)
    torch.manual_seed(number)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(number)
