"""Set up and end a process of a trial: its id, its parent, how it leaves, and the stacks that it dumps on a signal."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# As it was before any model was imported, which may put something else in its place.
process_id = os.getpid


def wait(pid: int) -> int:
    """The exit code of a fork. A model that has the signal of ended children ignored lets nobody know it."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return 0


_own_id = 0


def remember_process_id() -> None:
    """Remember this process's id, so that a copy of it that a model forks is recognised."""
    global _own_id  # noqa: PLW0603 - one place for a process, as its number is
    _own_id = process_id()


def exit_if_forked_copy() -> None:
    """End this process if a model forked it: such a model comes back twice, and only one of the two may answer."""
    if process_id() != _own_id:
        leave(0)


def leave(code: int) -> NoReturn:
    """End a fork without running what the server or the target registered for exit."""
    with contextlib.suppress(BaseException):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def die_with_parent(parent: int | None = None) -> None:
    """Ask the kernel to kill this process when its parent is gone, even by SIGKILL. Linux only; elsewhere the parent's
    own cleaning has to do. `parent`: its number before the fork, since it may be gone before the kernel was asked."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of what a stage started and left running, so that it can be found and ended. Linux only."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


_MADV_COLLAPSE = 25  # since Linux 6.1
_LARGE_PAGE = 2 << 20


def use_large_pages() -> None:
    """Put the memory of this process into few large pages: a fork copies a list of all pages, and that is most of what
    it costs. Nothing where the system has no such pages."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            madvise = ctypes.CDLL(None).madvise
            for place in _own_memory():
                begin, end = -(-place.start // _LARGE_PAGE) * _LARGE_PAGE, place.stop // _LARGE_PAGE * _LARGE_PAGE
                if begin < end:
                    madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), _MADV_COLLAPSE)


def _own_memory() -> Iterator[range]:
    """Where this process may write what no file holds."""
    for line in Path("/proc/self/maps").read_text("utf-8", "replace").splitlines():
        place, may, _, device, *_ = line.split()
        if may == "rw-p" and device == "00:00":
            begin, _, end = place.partition("-")
            yield range(int(begin, 16), int(end, 16))


_stacks: Path | None = None


@contextlib.contextmanager
def counted_in(pid: int) -> Iterator[None]:
    """While it runs, count a process that works for this one, and is no child of it, among what this one uses."""
    note = Path(f"{_stacks}.beside.{pid}") if _stacks else None
    if note:
        note.touch()
    try:
        yield
    finally:
        if note:
            note.unlink(missing_ok=True)


def dump_stack_on_signal(output: Path) -> None:
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
        stack = os.open(f"{_stacks}.stack.{process_id()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        faulthandler.enable(file=stack, all_threads=False)
        faulthandler.register(signal.SIGUSR1, file=stack, all_threads=False)


# Wait for a fork on behalf of somebody else, who may hang up; forks that leave without coming back.


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
    """The exit code of the fork. When who asked for it is gone, the fork goes too, and then this process: the run's end
    waits for what it finds, and would not find a fork without its parent, which may take a while to give back memory.
    """
    while True:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # the target's import has the signal of ended children ignored
            done, status = pid, 0
        if done:
            return os.waitstatus_to_exitcode(status)
        if select.select([line], [], [], 0.02)[0] and not line.recv(1, socket.MSG_PEEK):
            os.killpg(pid, signal.SIGKILL)
            wait(pid)
            leave(1)


def reap() -> None:
    """Forget the forks that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
