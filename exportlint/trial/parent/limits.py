"""Watch the time, the memory and the output of a process with everything it started, and end what passes a limit."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil

from exportlint.trial.parent.connection import Overrun
from exportlint.trial.protocol.outcomes import CRASHED, TIMED_OUT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from exportlint.trial.protocol.options import Limits


_OUTPUT_BYTES = 8 << 20
# The pause after a search for child processes: so many times as long as it took, and between these.
_TIMES_A_SEARCH, _SHORTEST_PAUSE, _LONGEST_PAUSE = 50, 0.25, 1.0
_DEATH_SECONDS = 5.0


@dataclass
class LimitWatch:
    """The limits of one process, asked every few hundredths of a second whether one is passed.

    Their default values stand in `exportlint.trial.protocol.options`.
    """

    limits: Limits
    pid: int
    output: Path
    _until: float = 0.0
    _looked: float = 0.0
    _pause: float = _SHORTEST_PAUSE
    _children: list[psutil.Process] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._until = time.monotonic() + self.limits.seconds

    def overrun(self) -> Overrun | None:
        """The limit that is passed; output beyond its cap is thrown away, and no reason to end anything."""
        _cap(self.output)
        if time.monotonic() > self._until:
            return Overrun(TIMED_OUT, f"still running after {self.limits.seconds:g} s")
        if self._megabytes() > self.limits.memory_mb:
            return Overrun(CRASHED, f"ended at the memory limit of {self.limits.memory_mb} MB")
        return None

    def _megabytes(self) -> float:
        with contextlib.suppress(psutil.Error):
            processes = [psutil.Process(self.pid), *self._descendants()]
            resident = _summed(processes, lambda one: one.memory_info().rss)
            # Forks share most of what they hold. What each has of it costs more to ask, so only where it matters.
            return resident if resident <= self.limits.memory_mb else _summed(processes, _own_bytes)
        return 0.0

    def _descendants(self) -> list[psutil.Process]:
        # The search reads every process of the machine, so it is not done at every look, and where there are many
        # processes, so that it takes long, more seldom.
        began = time.monotonic()
        if began - self._looked > self._pause:
            self._children = descendants(self.pid) + _beside(self.output)
            self._looked = time.monotonic()
            self._pause = min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, _TIMES_A_SEARCH * (self._looked - began)))
        return self._children


def _beside(output: Path) -> list[psutil.Process]:
    """What works for the process without being its child, and what that started: `counted_in` leaves a file of each."""
    found: list[psutil.Process] = []
    for note in output.parent.glob(f"{output.name}.beside.*"):
        with contextlib.suppress(psutil.Error):  # it may have ended
            pid = int(note.suffix[1:])
            found += [psutil.Process(pid), *descendants(pid)]
    return found


def _summed(processes: list[psutil.Process], asked: Callable[[psutil.Process], int]) -> float:
    total = 0
    for one in processes:
        with contextlib.suppress(psutil.Error):  # a process may end while it is asked
            total += asked(one)
    return total / (1 << 20)


def _own_bytes(process: psutil.Process) -> int:
    """Memory of one process: what is shared is divided by those that share it, or left out where that is not known."""
    full = process.memory_full_info()
    return int(getattr(full, "pss", full.uss))


def descendants(pid: int) -> list[psutil.Process]:
    """Everything the process started that still runs."""
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return []


def kill_group(pid: int) -> None:
    """End the process, its group and all descendants with theirs; comes back when they no longer run."""
    descendants_left = descendants(pid)
    for one in (pid, *(one_left.pid for one_left in descendants_left)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(one, signal.SIGKILL)
    for one_left in descendants_left:
        with contextlib.suppress(psutil.Error):
            one_left.kill()
    until = time.monotonic() + _DEATH_SECONDS
    while any(map(_runs, descendants_left)) and time.monotonic() < until:
        time.sleep(0.01)


def runs(pid: int) -> bool:
    """Is there a process of that number that has not ended?"""
    try:
        return _runs(psutil.Process(pid))
    except psutil.Error:
        return False


def _runs(process: psutil.Process) -> bool:
    """Not gone and no zombie: what is killed may still write a file for a moment."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _cap(output: Path) -> None:
    # Writers append, so they go on at the new end.
    with contextlib.suppress(OSError):
        if output.stat().st_size > _OUTPUT_BYTES:
            os.truncate(output, 0)
