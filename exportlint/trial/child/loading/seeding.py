"""Seed every source of random numbers, the same in every process."""

from __future__ import annotations

import random
import sys
from functools import cache

import torch

from exportlint.trial.child.loading.held_moment import held_moment


def seed(number: int) -> None:
    """The same randomness for torch, Python and NumPy (if the target uses it).

    Where the moment is held, what Python and NumPy draw is a part of it, and the same after every seed: the tracer
    makes constants of their draws. Torch's are operators of the program, which draws anew itself.
    """
    if _has_other_devices():
        torch.manual_seed(number)
    else:
        torch.default_generator.manual_seed(number)
    if moment := held_moment():
        moment.begin_call()
        number = 0
    random.seed(number)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(number)


@cache
def _has_other_devices() -> bool:
    """Does something else than the processor draw? Where nothing does, torch.manual_seed remembers with all frames of
    the stack for every kind of device that it is to be seeded, should there be one: much of what comparing costs."""
    return bool(torch.accelerator.device_count())
