"""How many things this process can do at the same time."""

from __future__ import annotations

import math
import os


def cores() -> int:
    """The processor cores that this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_cores() -> int:
    """How many of them nothing else uses, beside the one of this process; none where the system does not say."""
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0
    return max(0, min(cores() - 1, math.floor(cores() - load)))
