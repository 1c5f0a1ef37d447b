"""Record which lines of the model's own code a call runs."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.frames import is_user_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType


Lines = dict[str, set[int]]


@contextmanager
def recorded_lines(lines: Lines) -> Iterator[None]:
    """Note every line that runs in code that is the model's own or its libraries'."""
    wanted: dict[str, str | None] = {}

    def on_call(frame: FrameType, _event: str, _arg: Any) -> Callable[..., Any] | None:
        name = frame.f_code.co_filename
        if name not in wanted:
            path = os.path.abspath(name)  # noqa: PTH100 - no links resolved: paths stay as the user wrote them
            wanted[name] = path if is_user_path(path) and not name.startswith("<") else None
        path_or_none = wanted[name]
        if path_or_none is None:
            return None
        found = lines[path_or_none]
        found.add(frame.f_lineno)

        def on_line(inner: FrameType, event: str, _arg: Any) -> Any:
            if event == "line":
                found.add(inner.f_lineno)
            return on_line

        return on_line

    sys.settrace(on_call)
    try:
        yield
    finally:
        sys.settrace(None)
