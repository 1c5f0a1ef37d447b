"""Targets in, reports out: the ladder of every target, side by side where asked, never ended by what a target does."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.ladder import Climb
from exportlint.trial.report import Event, TargetReport, TrialOptions, TrialUnavailable
from exportlint.trial.scripts import run_script
from exportlint.trial.target import TargetKind

if TYPE_CHECKING:
    from types import FrameType

    from exportlint.trial.target import Target

LOWERINGS = "exportlint.lowerings"
ZOOS = "exportlint.zoo"
Listener = Callable[[Event], None]


def run_trials(
    targets: Sequence[Target], options: TrialOptions, on_event: Listener | None = None
) -> list[TargetReport]:
    """Everything that DESIGN's ladder tries, for every target, in the targets' order. A script's own report comes
    before those of the targets that its run gave.

    Raises TrialUnavailable when no trial can run at all. An interrupt (Ctrl-C, SIGTERM) ends every process that was
    started and takes the temporary folder away before it goes on.
    """
    lowerings = _lowerings(options.lower)
    with (kept if options.keep else session)(options.python) as server:
        work: list[Callable[[], TargetReport]] = []
        for target in targets:
            found = [target]
            if target.kind is TargetKind.SCRIPT:
                ran, found = run_script(server, target, options, on_event or _nobody)
                work.append(partial(_given, ran))
            work += [Climb(server, one, options, lowerings, on_event or _nobody).report for one in found]
        return _side_by_side(work, options.jobs)


def _given(report: TargetReport) -> TargetReport:
    return report


def _nobody(_event: Event) -> None:
    pass


def _side_by_side(work: list[Callable[[], TargetReport]], jobs: int) -> list[TargetReport]:
    if jobs <= 1:
        return [one() for one in work]
    pool = ThreadPoolExecutor(jobs)
    try:
        return [future.result() for future in [pool.submit(one) for one in work]]
    finally:
        # After an interrupt nobody waits for the threads: the session ends their processes, and so them.
        pool.shutdown(wait=False, cancel_futures=True)


def _lowerings(names: Sequence[str]) -> Mapping[str, str]:
    """Name -> module, as entry points say; the module is only imported in the child."""
    known = {point.name: point.value for point in entry_points(group=LOWERINGS)}
    for name in names:
        if name not in known:
            raise TrialUnavailable(f"there is no lowering {name!r}; there are: {', '.join(sorted(known))}")
    return {name: known[name] for name in names}


@contextlib.contextmanager
def session(python: Path | None) -> Iterator[Any]:
    """A server in a temporary folder; both are gone afterwards, whatever happened."""
    with _terminated_like_interrupted(), _served(python) as server:
        yield server


_kept: dict[tuple[int, Path | None], Any] = {}


@contextlib.contextmanager
def kept(python: Path | None) -> Iterator[Any]:
    """A server that stays until this process ends, so that its next trial need not load torch again."""
    key = (os.getpid(), python)  # a fork has a server of its own
    if key not in _kept or not _kept[key].alive:
        stack = contextlib.ExitStack()
        _kept[key] = stack.enter_context(_served(python))
        atexit.register(_closed, stack, os.getpid())
    yield _kept[key]


def _closed(stack: contextlib.ExitStack, pid: int) -> None:
    if os.getpid() == pid:
        stack.close()


@contextlib.contextmanager
def _served(python: Path | None) -> Iterator[Any]:
    if not hasattr(os, "fork"):
        raise TrialUnavailable("a trial needs fork(), which this system does not have; run it on Linux, macOS or WSL")
    try:
        from exportlint.trial.server import Server  # noqa: PLC0415 - psutil comes with the extra, and is said so
    except ImportError as exc:
        raise TrialUnavailable(f"a trial needs psutil and torch ({exc}); pip install 'exportlint[torch]'") from exc
    folder = Path(tempfile.mkdtemp(prefix="exportlint-"))
    try:
        server = Server(python, folder)
        try:
            yield server
        finally:
            server.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
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
        signal.signal(signal.SIGTERM, before)


def search_path() -> list[str]:
    """Where `module:callable` is looked for: the working directory, as `python -m` would."""
    return [os.getcwd()]  # noqa: PTH109 - sys.path wants text
