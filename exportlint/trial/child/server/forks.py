"""Run a function in a fork of this process: what it breaks, nobody else sees."""

from __future__ import annotations

import contextlib
import os
import pickle
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from exportlint.trial.child.server.process_control import (
    die_with_parent,
    exit_if_forked_copy,
    leave,
    remember_process_id,
    wait,
)
from exportlint.trial.protocol.exceptions import of_exception
from exportlint.trial.protocol.outcomes import exit_in_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from exportlint.trial.protocol.observation import Observation


@dataclass(frozen=True)
class ForkResult:
    """What came back: a value, or the exception, or how the process ended."""

    value: Any = None
    raised: Observation | None = None
    ended: str | None = None

    @property
    def ok(self) -> bool:
        return self.raised is None and self.ended is None


def in_fork(function: Callable[[], Any], folder: Path, *, here: bool = False) -> ForkResult:
    """Run `function` in a fork; the value must pickle. `here`: in an empty working directory of its own."""
    place = Path(tempfile.mkdtemp(prefix="fork-", dir=folder))
    pid = os.fork()
    if pid == 0:
        if here:
            os.chdir(tempfile.mkdtemp(dir=place))
        _run_and_leave(function, place)
    code = wait(pid)
    answer = place / "answer"
    if not answer.exists():
        return ForkResult(ended=exit_in_words(code))
    with contextlib.suppress(Exception):
        return ForkResult(**pickle.loads(answer.read_bytes()))  # noqa: S301 - our own fork wrote it
    return ForkResult(ended="an answer that cannot be read")


def _run_and_leave(function: Callable[[], Any], place: Path) -> NoReturn:
    die_with_parent()
    remember_process_id()
    try:
        answer = {"value": function()}
    except BaseException as exc:  # noqa: BLE001 - SystemExit and bare StopIteration are answers too
        answer = {"raised": of_exception(exc)}
    exit_if_forked_copy()
    with contextlib.suppress(BaseException):
        part = place / "part"
        part.write_bytes(pickle.dumps(answer))
        part.rename(place / "answer")
    leave(0)
