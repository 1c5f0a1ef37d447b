"""A sign of life on stderr: for terminals only, and only when the wait is longer than a second."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.status import Status

PATIENCE = 1.0


@contextmanager
def waiting(text: str) -> Iterator[_Sign]:
    """Show `text` with a spinner while the block runs; `sign.says(...)` replaces the text."""
    sign = _Sign(text)
    timer = threading.Timer(PATIENCE, sign.show)
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        yield sign
    finally:
        timer.cancel()
        sign.hide()


class _Sign:
    def __init__(self, text: str) -> None:
        self._text = text
        self._status: Status | None = None
        self._lock = threading.Lock()
        self._over = False

    def says(self, text: str) -> None:
        with self._lock:
            self._text = text
            if self._status:
                self._status.update(text)

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
