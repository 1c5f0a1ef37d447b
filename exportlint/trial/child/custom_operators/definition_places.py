"""Find the lines that define a custom operator, and its fake kernel."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.trial.protocol.frames import Frame, frame_at, is_installed, is_user_path

if TYPE_CHECKING:
    from collections.abc import Iterator


def defined_at(name: str) -> Frame | None:
    """Of one that `torch.library.custom_op` made, its function; else the line of the project that names it in quotes.

    Torch keeps no line of an operator that a schema defines.
    """
    from torch._library.custom_ops import OPDEFS  # noqa: PLC0415 - no public name

    code = getattr(getattr(OPDEFS.get(name), "_init_fn", None), "__code__", None)
    if code:
        return frame_at(code.co_filename, code.co_firstlineno, code.co_name)
    namespace, _, operator = name.partition("::")
    patterns = [rf"""["']{namespace}::{operator}["'(]""", rf"""\.define\(\s*["']{operator}\("""]
    places = (place for file in _project_files() for pattern in patterns for place in _naming(file, pattern))
    return next(places, None)


def faked_at(name: str) -> Frame | None:
    """The function that was registered as its fake kernel; for want of one, where the operator is defined."""
    from torch._library.custom_ops import OPDEFS  # noqa: PLC0415 - no public name
    from torch._library.simple_registry import singleton  # noqa: PLC0415 - as above

    if code := getattr(getattr(OPDEFS.get(name), "_abstract_fn", None), "__code__", None):
        return frame_at(code.co_filename, code.co_firstlineno, code.co_name)
    kernel = getattr(singleton.find(name).fake_impl, "kernel", None)
    path, _, line = str(getattr(kernel, "source", "")).rpartition(":")
    if line.isdigit() and is_user_path(path):
        return frame_at(path, int(line), "")
    return defined_at(name)


def _project_files() -> Iterator[Path]:
    """Of the modules that are loaded, the project's own."""
    files = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    for file in files:
        if file and is_user_path(file) and not is_installed(file):
            yield Path(file)


def _naming(file: Path, pattern: str) -> Iterator[Frame]:
    try:
        text = file.read_text("utf-8")
    except (OSError, ValueError):
        return
    for found in re.finditer(pattern, text):
        yield frame_at(str(file), text.count("\n", 0, found.start()) + 1, "")
