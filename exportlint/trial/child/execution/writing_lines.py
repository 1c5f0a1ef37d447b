"""Find the lines that change attributes, globals and arguments while a model runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.torch_private.tensors import writes_in_place
from exportlint.trial.protocol.frames import Frame, frame_at, innermost_user_frame, is_user_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

# Watching costs a look at everything watched on every line.
_MOST_LINES = 20_000


def state_mark(value: Any, levels: int = 2) -> Any:
    """A mark that changes when the value is replaced or changed in place. Cheap: tensors' data is not compared."""
    if isinstance(value, torch.Tensor):
        return id(value), writes_in_place(value)
    if isinstance(value, (bool, int, float, str, bytes, type(None))):
        return value
    if levels and isinstance(value, dict):
        return [(str(key), state_mark(item, levels - 1)) for key, item in value.items()]
    if levels and isinstance(value, (list, tuple)):
        return [state_mark(item, levels - 1) for item in value]
    if isinstance(value, (set, frozenset)):
        return len(value)
    kept = getattr(value, "__dict__", None)
    return state_mark(kept, levels - 1) if levels and isinstance(kept, dict) and not callable(value) else id(value)


def writing_lines(call: Callable[[], Any], watched: dict[str, Callable[[], Any]]) -> dict[str, Frame]:
    """Run `call`; name -> the first line of user code that changed what the watched function gives."""
    watcher = _Watcher(watched)
    sys.settrace(watcher.on_call)
    try:
        call()
    except BaseException:  # noqa: BLE001, S110 - another stage reports it; what was seen until then counts
        pass
    finally:
        sys.settrace(None)
        watcher.look()
    return watcher.found


class _Watcher:
    def __init__(self, watched: dict[str, Callable[[], Any]]) -> None:
        self._watched = dict(watched)
        self._marks = {name: state_mark(give()) for name, give in watched.items()}
        self._last: tuple[str, int, str] | None = None
        self._lines = 0
        self.found: dict[str, Frame] = {}

    def on_call(self, frame: FrameType, _event: str, _arg: Any) -> Callable[..., Any] | None:
        if self._lines > _MOST_LINES or not is_user_path(frame.f_code.co_filename):
            return None
        return self._on_line

    def _on_line(self, frame: FrameType, event: str, _arg: Any) -> Any:
        if event in ("line", "return"):
            self.look()
            self._lines += 1
            # What a call returns is stored by the line that called.
            last = innermost_user_frame(frame.f_back) if event == "return" else frame
            if last is not None:
                self._last = (last.f_code.co_filename, last.f_lineno, last.f_code.co_name)
        return self._on_line

    def look(self) -> None:
        """What changed since the last look was changed by the line before."""
        for name, give in list(self._watched.items()):
            if (now := state_mark(give())) != self._marks[name]:
                self._marks[name] = now
                if self._last is not None:
                    self.found[name] = frame_at(*self._last)
                    del self._watched[name]
