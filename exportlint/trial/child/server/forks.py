"""Run a function in a fork of this process: what it breaks, nobody else sees."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import resource
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from exportlint.trial.child.server.process_control import (
    die_with_parent,
    exit_if_forked_copy,
    leave,
    process_id,
    remember_process_id,
    wait,
)
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.outcomes import exit_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


@dataclass(frozen=True)
class Told:
    """What a function told on its way, and how it ended. `stopped`: by the limit, so there may be more."""

    parts: list[Any]
    result: ForkResult
    stopped: bool


def told_in_fork(function: Callable[[Callable[[Any], None]], Any], folder: Path, cpu_seconds: int) -> Told:
    """Run `function(tell)` in a fork, for so much time of a processor; what it tells must pickle."""
    place = Path(tempfile.mkdtemp(prefix="told-", dir=folder)) / "parts"

    def run() -> Any:
        with place.open("ab") as file:

            def tell(part: Any) -> None:
                pickle.dump(part, file)
                file.flush()

            return function(tell)

    result = in_fork(run, folder, cpu_seconds=cpu_seconds)
    return Told(list(_parts(place)), result, result.ended == exit_in_words(-signal.SIGXCPU))


def _parts(file: Path) -> Iterator[Any]:
    """All that was written to its end."""
    if file.exists():
        with file.open("rb") as stream, contextlib.suppress(EOFError, pickle.UnpicklingError):
            while True:
                yield pickle.load(stream)  # noqa: S301 - our own fork wrote it


def in_fork(
    function: Callable[[], Any], folder: Path, *, here: bool = False, cpu_seconds: int | None = None
) -> ForkResult:
    """Run `function` in a fork; the value must pickle. `here`: in an empty working directory of its own."""
    place = Path(tempfile.mkdtemp(prefix="fork-", dir=folder))
    parent = process_id()
    pid = os.fork()
    if pid == 0:
        # What the parent left for its garbage collector is not taken apart here: a session of ONNX Runtime, say, waits
        # for its threads as it ends, and a fork has none of them.
        gc.freeze()
        if here:
            os.chdir(tempfile.mkdtemp(dir=place))
        if cpu_seconds is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
        _run_and_leave(function, place, parent)
    code = wait(pid)
    answer = place / "answer"
    if not answer.exists():
        return ForkResult(ended=exit_in_words(code))
    with contextlib.suppress(Exception):
        return ForkResult(**pickle.loads(answer.read_bytes()))  # noqa: S301 - our own fork wrote it
    return ForkResult(ended="an answer that cannot be read")


def _run_and_leave(function: Callable[[], Any], place: Path, parent: int) -> NoReturn:
    die_with_parent(parent)
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
