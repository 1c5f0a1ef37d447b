"""A program on a terminal of its own: what it shows is waited for, and answered as a person would."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PATIENCE = 40.0
CTRL_C = "\x03"


class Terminal:
    """80 columns. A question is waited for to its last blank: what is typed before the program reads may be lost.

    `shown` is everything that was printed so far; each `until` begins where the last one ended."""

    def __init__(self, command: Sequence[str], folder: Path, **environment: str) -> None:
        variables = {**os.environ, "TERM": "dumb", "COLUMNS": "80", **environment}
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            # As a shell on a terminal starts it: tests that run in the background have inherited that it is ignored.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execvpe(command[0], list(command), variables)  # noqa: S606 (the test's own command)
        self.shown = ""
        self._from = 0

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)
        os.close(self._master)

    def until(self, text: str) -> str:
        """What was shown up to the text and with it."""
        until = time.monotonic() + PATIENCE
        while (at := self.shown.find(text, self._from)) < 0:
            if not self._read(until):
                raise AssertionError(f"{text!r} was not shown after\n{self.shown}")
        before, self._from = self._from, at + len(text)
        return self.shown[before : self._from]

    def send(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self) -> int:
        """The exit code, once all is shown; of one that does not end, that it was killed."""
        until = time.monotonic() + PATIENCE
        while self._read(until):
            pass
        while (ended := os.waitpid(self.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > until:
                raise AssertionError(f"it did not end after\n{self.shown}")
            time.sleep(0.01)
        return os.waitstatus_to_exitcode(ended[1])

    def _read(self, until: float) -> bool:
        """False when nothing comes any more."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, until - time.monotonic()))
        try:
            data = os.read(self._master, 65536) if ready else b""
        except OSError:  # the program has ended
            data = b""
        self.shown += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)


def of_exportlint(folder: Path, *arguments: str) -> Terminal:
    return Terminal([sys.executable, "-m", "exportlint", *arguments], folder)
