"""Record what each call of a torch function gave, by the place of the call."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

if TYPE_CHECKING:
    from types import FrameType


# File, line, what is called there, and how many such calls the line made before.
CallPlace = tuple[str, int, str, int]
# Results are copies, since eager may write into its tensors later; of a large model's not all can be kept.
_MOST_BYTES = 512 << 20


class NumberedCalls(TorchFunctionMode):  # type: ignore[misc]  # torch leaves it untyped
    """Numbers the calls of torch functions by their place: so two runs of the same code can be put side by side."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, int, str], int] = {}

    def place(self, func: Any) -> CallPlace:
        frame = _caller(sys._getframe(2))  # noqa: SLF001 - the documented way
        path, line = (frame.f_code.co_filename, frame.f_lineno) if frame else ("", 0)
        made_at = (path, line, _name(func))
        self._made[made_at] = number = self._made.get(made_at, -1) + 1
        return (*made_at, number)


def _name(func: Any) -> str:
    """Of a property, its own name, not `__get__`."""
    name: str = getattr(func, "__name__", str(func))
    return f"{func.__self__.__name__}.{name}" if name in ("__get__", "__set__") else name


def _caller(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside torch."""
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("torch", "exportlint"):
        frame = frame.f_back
    return frame


class EagerResults(NumberedCalls):
    """Keeps what each call gave, as copies."""

    def __init__(self) -> None:
        super().__init__()
        self.results: dict[CallPlace, Any] = {}
        self._bytes = 0

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        place = self.place(func)
        result = func(*args, **(kwargs or {}))
        if self._bytes < _MOST_BYTES:
            self.results[place] = pytree.tree_map_only(torch.Tensor, self._copy, result)
        return result

    def _copy(self, tensor: torch.Tensor) -> Any:
        self._bytes += tensor.numel() * tensor.element_size()
        return tensor.detach().clone()
