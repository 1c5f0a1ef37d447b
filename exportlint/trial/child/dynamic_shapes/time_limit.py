"""End what takes too long of this process's own work, wherever it stands."""

from __future__ import annotations

import contextlib
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


SECONDS = 30


class OutOfTimeError(BaseException):
    """After so many `seconds`. Not an Exception, which torch and models catch on the way."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds


@contextlib.contextmanager
def in_time(seconds: int = SECONDS) -> Iterator[None]:
    """End what takes more seconds of this process's own work, by OutOfTimeError."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise OutOfTimeError(seconds)

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
