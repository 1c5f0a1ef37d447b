"""Find the lines at which eager does something else for other inputs."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.frames import Frame, frame_at, is_user_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


_MOST = 200_000
_Step = tuple[str, int, str]


def last_shared_line(one: Callable[[], Any], other: Callable[[], Any]) -> tuple[Frame, ...]:
    """The last line of user code that both runs share before they diverge; empty where they never do."""
    last: _Step | None = None
    for ours, theirs in zip_longest(_steps(one), _steps(other)):
        if ours != theirs:
            return (frame_at(*last),) if last else ()
        last = ours
    return ()


def lines_run_otherwise(one: Callable[[], Any], other: Callable[[], Any]) -> dict[str, list[int]]:
    """The lines of user code that the two run another number of times: the body of a loop over a size, say."""
    ours, theirs = (Counter((path, line) for path, line, _ in _steps(call)) for call in (one, other))
    found: dict[str, list[int]] = {}
    for path, line in sorted(ours | theirs):
        if ours[path, line] != theirs[path, line]:
            found.setdefault(path, []).append(line)
    return found


def _steps(call: Callable[[], Any]) -> list[_Step]:
    steps: list[_Step] = []

    def on_call(frame: FrameType, _event: str, _arg: Any) -> Any:
        return on_line if is_user_path(frame.f_code.co_filename) and len(steps) < _MOST else None

    def on_line(frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "line" and len(steps) < _MOST:
            steps.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        return on_line

    sys.settrace(on_call)
    try:
        call()
    finally:
        sys.settrace(None)
    return steps
