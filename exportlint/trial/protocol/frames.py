"""Stack frames as plain data, and which of them are the model's own code."""

from __future__ import annotations

import linecache
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import traceback
    from collections.abc import Iterable, Sequence
    from types import FrameType


# Packages that torch calls into and that never are the model's own code.
MACHINERY = (
    "torch",
    "functorch",
    "torchgen",
    "sympy",
    "mpmath",
    "executorch",
    "onnx",
    "onnx_ir",
    "onnxscript",
    "onnxruntime",
    "openvino",
    "tvm",
    "tvm_ffi",
    "exportlint",
)


class Frame(NamedTuple):
    """A place in a file; `text` is the source of the line."""

    path: str
    line: int
    function: str
    text: str


def frame_at(path: str, line: int, function: str) -> Frame:
    """A frame with its source text."""
    return Frame(path, line, function, linecache.getline(path, line).strip())


def innermost_user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost running frame of the model's own code, at or above this one."""
    while frame is not None and not is_user_path(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def innermost_user(frames: Sequence[Frame]) -> Frame | None:
    """The innermost of these, outermost first, that is the model's own code."""
    return next((frame for frame in reversed(frames) if is_user_path(frame.path)), None)


def summary_frames(stack: Iterable[traceback.FrameSummary]) -> tuple[Frame, ...]:
    """Frames of a `traceback.StackSummary`."""
    return tuple(Frame(f.filename, f.lineno or 0, f.name, (f.line or "").strip()) for f in stack)


_QUOTED = re.compile(
    r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)(?:,? in (?P<function>[\w<>.]+))?'
    r'(?:, code: (?P<code>.*)|\n(?!\s*File ")(?P<text>.*))?'
)
_FROM_USER_CODE = "from user code:"


def message_frames(message: str) -> tuple[Frame, ...]:
    """The places a message quotes as `File "…", line N, in f`; those after "from user code:" alone, if it says so."""
    quoted = message.rpartition(_FROM_USER_CODE)[2] if _FROM_USER_CODE in message else message
    return tuple(
        Frame(m["path"], int(m["line"]), m["function"] or "", (m["code"] or m["text"] or "").strip())
        for m in _QUOTED.finditer(quoted)
    )


@cache
def is_user_path(path: str) -> bool:
    """Is the file the model's own code, or a library of it: not torch, not the standard library, not exportlint?"""
    return bool(path) and not path.startswith(("<", *_foreign())) and not path.endswith(_COMPILED_SOURCES)


_COMPILED_SOURCES = (".c", ".cc", ".cpp", ".h", ".pyx", ".pxi", ".pxd")  # backends add such frames to a traceback


@cache
def is_installed(path: str) -> bool:
    """Does the file lie where packages are installed? Also below a folder of `pip install --target`, which no name
    tells, and pip's record of what it put there does: somebody's own files may lie beside that."""
    file = Path(path)
    if "site-packages" in file.parts or "dist-packages" in file.parts:
        return True
    whole = file.absolute()
    return any(whole.relative_to(folder).parts[0] in _put_there_by_pip(str(folder)) for folder in whole.parents)


@cache
def _put_there_by_pip(folder: str) -> frozenset[str]:
    """The packages and modules right below the folder that a record of pip's lists."""
    from importlib.metadata import distributions  # noqa: PLC0415 (15 ms, and the static pass asks for none)

    records = (one.read_text("RECORD") or "" for one in distributions(path=[folder]))
    return frozenset(line.partition(",")[0].partition("/")[0] for text in records for line in text.splitlines())


def from_here(path: str) -> str:
    """The path as reports show it: relative to the working directory, with forward slashes."""
    return Path(os.path.relpath(path)).as_posix()


def is_own_path(path: str) -> bool:
    return path.startswith(_our_folders())


@cache
def _our_folders() -> tuple[str, ...]:
    return (f"{Path(__file__).resolve().parents[2]}/", f"{Path(__file__).parents[2]}/")


@cache
def _foreign() -> tuple[str, ...]:
    import sysconfig  # noqa: PLC0415 (for places in messages of torch, of which the static pass has none)
    import traceback  # noqa: PLC0415 (as above)

    stdlib = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), str(Path(traceback.__file__).parent)}
    sites = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), str(package_folder("torch").parent)}
    # site-packages lies inside the standard library's folder, so that folder is named entry by entry.
    entries = (
        entry
        for folder in stdlib
        for entry in Path(folder).iterdir()
        if entry.name not in ("site-packages", "dist-packages")
    )
    folders = {f"{e}/" if e.is_dir() else str(e) for e in entries}
    folders |= {f"{site}/{name}/" for site in sites for name in MACHINERY}
    return (*folders, *_our_folders())


def package_folder(name: str) -> Path:
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    return Path(file).parent if file else Path("/nonexistent")
