"""What this process can do at the same time: how many things, and how it waits for them."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

_T = TypeVar("_T")
_SECONDS = 0.2


def cores() -> int:
    """The processor cores that this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def result_of(future: Future[_T]) -> _T:
    """The result, waited for in the main thread so that Ctrl-C and SIGTERM are heard meanwhile.

    A wait without end is not left for a signal that came right before it began, or that another thread was given:
    Python runs the handler when the main thread goes on, which may be minutes later.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(1) as pool:
    ...     result_of(pool.submit(max, 1, 2))
    2
    """
    from concurrent.futures import wait  # noqa: PLC0415 (a small run has nothing to wait for)

    while not wait([future], timeout=_SECONDS).done:
        pass
    return future.result()


def free_cores() -> int:
    """How many of them nothing else uses, beside the one of this process; none where the system does not say."""
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):
        return 0
    return max(0, min(cores() - 1, math.floor(cores() - load)))
