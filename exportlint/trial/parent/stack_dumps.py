"""Read what a process left in its stage's folder: its last words, and the stacks of faulthandler."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING

from exportlint.trial.protocol.frames import Frame, is_user_path, message_frames

if TYPE_CHECKING:
    from pathlib import Path

_STACK_BYTES = 20_000
_TAIL_BYTES = 4000


def stack_of(pid: int, output: Path, seconds: float = 3.0) -> str:
    """Ask a group of processes that is about to be ended for its stacks; "" when none answers in time.

    Every process of the group answers, the one that only waits for its fork often first; so the answer is complete
    when it names the model's own code, or when the time is up.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGUSR1)
    until = time.monotonic() + seconds
    text = ""
    while time.monotonic() < until:
        time.sleep(0.05)
        before, text = text, stacks(output)
        # It is written line by line: what no longer grows is whole.
        if text == before and _is_informative(last_stack(text)):
            break
    return text


def stacks(output: Path) -> str:
    """What the processes of a stage left, each in its own file."""
    return "\n".join(tail(path, _STACK_BYTES) for path in sorted(output.parent.glob(f"{output.name}.stack.*")))


def last_stack(text: str) -> tuple[Frame, ...]:
    """faulthandler's dumps, the most recent call first; the one that names the model's own code, outermost first."""
    dumps = [tuple(reversed(message_frames(part))) for part in text.split("most recent call first") if part.strip()]
    informative = [dump for dump in dumps if _is_informative(dump)]
    return (informative or dumps or [()])[-1]


def tail(path: Path, size: int = _TAIL_BYTES) -> str:
    """The end of a text file, "" when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - size))
            return file.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _is_informative(dump: tuple[Frame, ...]) -> bool:
    """Does the dump name the model's own code?"""
    return any(is_user_path(frame.path) for frame in dump)
