"""End a call of a model that does not come back: on values that nobody gave it, a loop may never converge."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


class TooLongError(BaseException):
    """Of no class that a model catches."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises TooLongError in the block when the time is over; one operator is not interrupted, the next line is.

    Only in the main thread of a process, as Python's signals are.

    >>> import time
    >>> with limited(0.01):
    ...     time.sleep(10)
    Traceback (most recent call last):
    ...
    exportlint.trial.child.execution.time_limit.TooLongError: 0.01 seconds
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TooLongError(f"{seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
