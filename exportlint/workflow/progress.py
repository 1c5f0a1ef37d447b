"""What is said on stderr, beside the report: messages, and a sign of life where the wait is longer than a second."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.progress import Progress, TaskID
    from rich.status import Status


def say(text: str) -> None:
    """Print a message for the person, beside the report."""
    print(f"exportlint: {text}", file=sys.stderr)  # noqa: T201


PATIENCE = 1.0


@contextmanager
def spinner(text: str) -> Iterator[_Sign]:
    """Show `text` with a spinner while the block runs; `sign.update(...)` replaces the text."""
    sign = _Sign(text)
    timer = threading.Timer(PATIENCE, sign.show)
    timer.daemon = True
    if sys.stderr.isatty() and threading.current_thread() is threading.main_thread():  # there is one spinner only
        timer.start()
    try:
        yield sign
    finally:
        timer.cancel()
        sign.hide()


@contextmanager
def progress(text: str, total: int) -> Iterator[Callable[[int, int], None]]:
    """Show a bar while the block runs; what is yielded is called with how many of `total` are done."""
    bar = _Bar(text, total)
    if not sys.stderr.isatty():
        yield bar.advance
        return
    timer = threading.Timer(PATIENCE, bar.show)
    timer.daemon = True
    timer.start()
    try:
        yield bar.advance
    finally:
        timer.cancel()
        bar.hide()


class _Bar:
    def __init__(self, text: str, total: int) -> None:
        self._text = text
        self._total = total
        self._done = 0
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._lock = threading.Lock()
        self._over = False

    def advance(self, done: int, total: int) -> None:
        with self._lock:
            self._done, self._total = done, total
            if self._progress and self._task is not None:
                self._progress.update(self._task, completed=done, total=total)

    def show(self) -> None:
        from rich.console import Console  # noqa: PLC0415 (50 ms that short runs do not need)
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

        with self._lock:
            if self._over:
                return
            columns = (MofNCompleteColumn(), TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._progress.add_task(self._text, completed=self._done, total=self._total)
            self._progress.start()

    def hide(self) -> None:
        with self._lock:
            self._over = True
            if self._progress:
                self._progress.stop()


class _Sign:
    def __init__(self, text: str) -> None:
        self._text = text
        self._began = time.monotonic()
        self._status: Status | None = None
        self._lock = threading.Lock()
        self._over = False

    def update(self, text: str) -> None:
        with self._lock:
            self._text = text
            if self._status:
                self._status.update(text)

    def line(self, text: str) -> None:
        """Where there is no spinner, a line for each part that ends after the first second."""
        if not sys.stderr.isatty() and time.monotonic() - self._began > PATIENCE:
            say(text)

    def show(self) -> None:
        from rich.console import Console  # noqa: PLC0415 (50 ms that short runs do not need)
        from rich.status import Status  # noqa: PLC0415

        with self._lock:
            if not self._over:
                self._status = Status(self._text, console=Console(stderr=True, markup=False))
                self._status.start()

    def hide(self) -> None:
        with self._lock:
            self._over = True
            if self._status:
                self._status.stop()
