"""Record what a call does besides returning: prints, log records, files, processes; each with its line."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.torch_private.module_names import COMPILER
from exportlint.trial.protocol.frames import Frame, frame_at, innermost_user_frame

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


@dataclass
class SideEffects:
    """What was done inside of a block.

    printed   to stdout
    log       the records that were logged, torch's own left out
    outside   files opened for writing, processes and the like, each by Python's name of the audit event
    places    stdout, log or files -> the user's line that was the first to do it
    """

    printed: io.StringIO = field(default_factory=io.StringIO)
    log: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    places: dict[str, Frame] = field(default_factory=dict)

    def note(self, kind: str) -> None:
        if kind not in self.places and (frame := _user_frame(sys._getframe(1))):  # noqa: SLF001 - the documented way
            self.places[kind] = frame


def _user_frame(frame: FrameType | None) -> Frame | None:
    found = innermost_user_frame(frame)
    return frame_at(found.f_code.co_filename, found.f_lineno, found.f_code.co_name) if found else None


class _Out(io.TextIOBase):
    def __init__(self, effects: SideEffects) -> None:
        self._effects = effects

    def write(self, text: str) -> int:
        self._effects.note("stdout")
        return self._effects.printed.write(text)


class _Log(logging.Handler):
    def __init__(self, effects: SideEffects) -> None:
        super().__init__(level=0)
        self._effects = effects

    def emit(self, entry: logging.LogRecord) -> None:
        if not entry.name.startswith("torch"):
            self._effects.note("log")
            self._effects.log.append(f"{entry.levelname} {entry.getMessage()}")


# An audit hook cannot be taken away again; it reports to whoever listens now.
_listeners: list[SideEffects] = []
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_EVENTS = ("subprocess.Popen", "os.system", "os.remove", "os.mkdir", "socket.connect")


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _listeners or (event != "open" and event not in _EVENTS):
        return
    if event == "open" and not _writes(*arguments):
        return
    if _compiling():
        return
    for effects in _listeners:
        effects.outside.append(event)
        effects.note("files")


def _compiling() -> bool:
    """Does torch's compiler write? Eager `torch.cond` compiles, and the compiler keeps its cache on disk."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the documented way
    while frame is not None and COMPILER not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None


def _writes(path: Any, mode: Any, flags: Any) -> bool:
    if str(path).startswith("/dev/"):
        return False
    return any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(int(flags or 0) & _WRITING)


@cache
def _hook() -> None:
    sys.addaudithook(_audit)


@contextlib.contextmanager
def recorded_effects() -> Iterator[SideEffects]:
    """Note everything that is done inside."""
    _hook()
    effects = SideEffects()
    handler, root = _Log(effects), logging.getLogger()
    root.addHandler(handler)
    _listeners.append(effects)
    try:
        with contextlib.redirect_stdout(_Out(effects)):
            yield effects
    finally:
        _listeners.remove(effects)
        root.removeHandler(handler)
