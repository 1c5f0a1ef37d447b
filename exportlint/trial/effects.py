"""What a call does besides returning: prints, log records, files, processes; each with the line that did it."""

from __future__ import annotations

import contextlib
import io
import linecache
import logging
import os
import sys
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from exportlint.trial.observation import Frame, is_user_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


@dataclass
class Heard:
    """`places`: the user's line that was first to print, log, or reach outside."""

    printed: io.StringIO = field(default_factory=io.StringIO)
    log: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    places: dict[str, Frame] = field(default_factory=dict)

    def note(self, kind: str) -> None:
        if kind not in self.places and (frame := user_frame(sys._getframe(1))):  # noqa: SLF001 - the documented way
            self.places[kind] = frame


def user_frame(frame: FrameType | None) -> Frame | None:
    """The same with its source text."""
    found = innermost_user(frame)
    return frame_at(found.f_code.co_filename, found.f_lineno, found.f_code.co_name) if found else None


def innermost_user(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the model's own code, at or above this one."""
    while frame is not None and not is_user_path(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def frame_at(path: str, line: int, function: str) -> Frame:
    """A frame with its source text."""
    return Frame(path, line, function, linecache.getline(path, line).strip())


class _Out(io.TextIOBase):
    def __init__(self, heard: Heard) -> None:
        self._heard = heard

    def write(self, text: str) -> int:
        self._heard.note("stdout")
        return self._heard.printed.write(text)


class _Log(logging.Handler):
    def __init__(self, heard: Heard) -> None:
        super().__init__(level=0)
        self._heard = heard

    def emit(self, entry: logging.LogRecord) -> None:
        if not entry.name.startswith("torch"):
            self._heard.note("log")
            self._heard.log.append(f"{entry.levelname} {entry.getMessage()}")


# An audit hook cannot be taken away again; it speaks to whoever listens now.
_listeners: list[Heard] = []
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_COMPILER = f"torch{os.sep}_inductor{os.sep}"
_EVENTS = ("subprocess.Popen", "os.system", "os.remove", "os.mkdir", "socket.connect")


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if not _listeners or (event != "open" and event not in _EVENTS):
        return
    if event == "open" and not _writes(*arguments):
        return
    if _compiling():
        return
    for heard in _listeners:
        heard.outside.append(event)
        heard.note("files")


def _compiling() -> bool:
    """Does torch's compiler write? Eager `torch.cond` compiles, and the compiler keeps its cache on disk."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the documented way
    while frame is not None and _COMPILER not in frame.f_code.co_filename:
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
def listening() -> Iterator[Heard]:
    """Hear everything that is done inside."""
    _hook()
    heard = Heard()
    handler, root = _Log(heard), logging.getLogger()
    root.addHandler(handler)
    _listeners.append(heard)
    try:
        with contextlib.redirect_stdout(_Out(heard)):
            yield heard
    finally:
        _listeners.remove(heard)
        root.removeHandler(handler)
