"""Start the process that has torch, keep it as long as trials need it, and end it."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.parent import TrialUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType


@contextlib.contextmanager
def session(
    python: Path | None, on_stop: Callable[[int], None] | None = None, preload: Sequence[str] = ()
) -> Iterator[Any]:
    """A server in a temporary folder, which has imported `preload`; both are gone afterwards, whatever happened.

    `on_stop` is told of the first Ctrl-C or SIGTERM: all processes of the session are ended, and the block goes on with
    what it knows. A second Ctrl-C raises, and so does the first signal where nobody is to be told.
    """
    with terminated_like_interrupted(), _served(python, preload) as server, _told(server, on_stop):
        yield server


@contextlib.contextmanager
def _told(server: Any, on_stop: Callable[[int], None] | None) -> Iterator[None]:
    if on_stop is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _frame: FrameType | None) -> None:
        # Who cancels a job sends Ctrl-C, then SIGTERM, some seconds apart: the report shall be out by then.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        on_stop(number)
        server.end_processes()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is stop:
            for number, handler in before.items():
                signal.signal(number, handler)


_stays: dict[tuple[int, Path | None, tuple[str, ...]], Any] = {}


@contextlib.contextmanager
def kept_session(python: Path | None, preload: Sequence[str] = ()) -> Iterator[Any]:
    """A server that stays until this process ends, so that its next trial need not load torch, and `preload`, again."""
    key = (os.getpid(), python, tuple(preload))  # a fork has a server of its own
    if key not in _stays or not _stays[key].alive:
        stack = contextlib.ExitStack()
        _stays[key] = stack.enter_context(_served(python, preload))
        atexit.register(_closed, stack, os.getpid())
    yield _stays[key]


def _closed(stack: contextlib.ExitStack, pid: int) -> None:
    if os.getpid() == pid:
        stack.close()


@contextlib.contextmanager
def _served(python: Path | None, preload: Sequence[str] = ()) -> Iterator[Any]:
    if not hasattr(os, "fork"):
        raise TrialUnavailable("a trial needs fork(), which this system does not have; run it on Linux, macOS or WSL")
    try:
        from exportlint.trial.parent.server import Server  # noqa: PLC0415 - psutil comes with the extra, as the error says
    except ImportError as exc:
        raise TrialUnavailable(f"a trial needs psutil and torch ({exc}); pip install 'exportlint[torch]'") from exc
    folder = Path(tempfile.mkdtemp(prefix="exportlint-"))
    try:
        server = _started(Server, python, folder, preload)
        try:
            yield server
        finally:
            server.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(server: Callable[..., Any], python: Path | None, folder: Path, preload: Sequence[str]) -> Any:
    """With what is to be imported before; without, where that ends the process: the one stage that needs it says so."""
    if preload:
        with contextlib.suppress(TrialUnavailable):
            return server(python, folder, preload=preload)
    return server(python, folder)


@contextlib.contextmanager
def terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM unwinds the stack as Ctrl-C does. Signals are the main thread's; elsewhere nothing is changed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is end:
            signal.signal(signal.SIGTERM, before)


def search_path() -> list[str]:
    """Where `module:callable` is looked for: the working directory, as `python -m` would."""
    return [os.getcwd()]  # noqa: PTH109 - sys.path wants text
