"""A function run in a fork of this process: what it breaks, nobody else sees. Runs in the child."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import pickle
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from exportlint.trial.observation import Observation, of_exception

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Outcome:
    """What came back: a value, or the exception, or how the process ended."""

    value: Any = None
    raised: Observation | None = None
    ended: str | None = None

    @property
    def ok(self) -> bool:
        return self.raised is None and self.ended is None


def in_fork(function: Callable[[], Any], folder: Path, *, here: bool = False) -> Outcome:
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
        return Outcome(ended=ending(code))
    with contextlib.suppress(Exception):
        return Outcome(**pickle.loads(answer.read_bytes()))  # noqa: S301 - our own fork wrote it
    return Outcome(ended="an answer that cannot be read")


def _run_and_leave(function: Callable[[], Any], place: Path) -> NoReturn:
    die_with_parent()
    settle()
    try:
        told = {"value": function()}
    except BaseException as exc:  # noqa: BLE001 - SystemExit and bare StopIteration are answers too
        told = {"raised": of_exception(exc)}
    leave_if_stray()
    with contextlib.suppress(BaseException):
        part = place / "part"
        part.write_bytes(pickle.dumps(told))
        part.rename(place / "answer")
    leave(0)


def wait(pid: int) -> int:
    """The exit code of a fork. A model that has the signal of ended children ignored lets nobody know it."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return 0


_settled = 0


def settle() -> None:
    """This process answers for itself from now on; what a model forks off it does not."""
    global _settled  # noqa: PLW0603 - one place for a process, as its number is
    _settled = os.getpid()


def leave_if_stray() -> None:
    """A model that forks comes back twice, and only one of the two may answer."""
    if os.getpid() != _settled:
        leave(0)


def leave(code: int) -> NoReturn:
    """End a fork without running what the server or the target registered for exit."""
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def ending(code: int) -> str:
    """An exit code in words."""
    if code >= 0:
        return f"the process ended itself with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"the process was ended by {name}"


_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def die_with_parent() -> None:
    """Ask the kernel to kill this process when its parent is gone, even by SIGKILL. Linux only; elsewhere the parent's
    own cleaning has to do."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> None:
    """Become the parent of what a stage started and left running, so that it can be found and ended. Linux only."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


_stacks: Path | None = None


def tell_stack_on_signal(output: Path) -> None:
    """Send stdout and stderr to `output`; crashes, and the parent's SIGUSR1, leave the Python stack beside it.

    Each process has a file of its own: two that answer into one write between each other's words.
    """
    global _stacks  # noqa: PLW0603 - one place for a process and all it forks, as the signal's handler is
    fd = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    os.close(fd)
    if _stacks is None:
        os.register_at_fork(after_in_child=_own_stack)
    _stacks = output
    _own_stack()


def _own_stack() -> None:
    with contextlib.suppress(OSError):
        stack = os.open(f"{_stacks}.stack.{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        faulthandler.enable(file=stack, all_threads=False)
        faulthandler.register(signal.SIGUSR1, file=stack, all_threads=False)
