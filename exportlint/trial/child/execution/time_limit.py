"""End what takes too long of this process's own work, wherever it stands: a solver, or a loop that never converges."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


# Seconds for a call on values that were drawn, or made of the sample's: a model may not be meant for them, and a loop
# that ends on the sample may never end on them.
ON_DRAWN_VALUES = 10.0


class OutOfTimeError(BaseException):
    """After so many `seconds`. Not an Exception, which torch and models catch on the way."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


@contextlib.contextmanager
def in_time(seconds: float) -> Iterator[None]:
    """End what takes more seconds of this process's own work, by OutOfTimeError; one operator is not interrupted, the
    next line is. Only in the main thread of a process, as Python's signals are.

    >>> with in_time(0.01):
    ...     while True:
    ...         pass
    Traceback (most recent call last):
    ...
    exportlint.trial.child.execution.time_limit.OutOfTimeError: 0.01
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        raise OutOfTimeError(seconds)

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
