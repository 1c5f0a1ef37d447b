"""Wait for a fork on behalf of somebody else, who may hang up; forks that leave without coming back."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from typing import TYPE_CHECKING, NoReturn

from exportlint.trial.child.server.process_control import die_with_parent, leave

if TYPE_CHECKING:
    from collections.abc import Callable


def leave_group(parent: int) -> None:
    """In a fork of `parent`: a group of its own, which ends with the parent and can be interrupted."""
    os.setsid()
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def leave_after(run: Callable[[], None]) -> NoReturn:
    """A fork that closed its own answer line must not come back into the loop of the process that it was made by."""
    try:
        run()
        leave(0)
    finally:
        leave(1)


def exit_code_of(pid: int, line: socket.socket) -> int:
    """The exit code of the fork. When who asked for it is gone, the fork goes too, and this process."""
    while True:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # the target's import has the signal of ended children ignored
            done, status = pid, 0
        if done:
            return os.waitstatus_to_exitcode(status)
        if select.select([line], [], [], 0.02)[0] and not line.recv(1, socket.MSG_PEEK):
            os.killpg(pid, signal.SIGKILL)
            leave(1)


def reap() -> None:
    """Forget the forks that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
