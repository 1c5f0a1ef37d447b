"""How many things this process can do at the same time."""

from __future__ import annotations

import os


def cores() -> int:
    """The processor cores that this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
