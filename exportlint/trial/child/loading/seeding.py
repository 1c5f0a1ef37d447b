"""Seed every source of random numbers, the same in every process."""

from __future__ import annotations

import contextlib
import random
import sys
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator


_SHIFTS = [0]  # the last one is added to every seed


def seed(number: int) -> None:
    """The same randomness for torch, Python and NumPy (if the target uses it)."""
    number += _SHIFTS[-1]
    random.seed(number)
    torch.manual_seed(number)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(number)


@contextlib.contextmanager
def other_randomness() -> Iterator[None]:
    """Inside of the block every seed gives other numbers: what stays the same there was not drawn."""
    _SHIFTS.append(10_000)
    try:
        yield
    finally:
        _SHIFTS.pop()
