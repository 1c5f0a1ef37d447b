"""Sizes that are changed in place while torch.jit.trace runs, where they are tensors and not numbers of Python.

`n = x.shape[1]; total = n; total += 2` leaves `n` as it was in eager, and changes it in the trace. Inside of the watch
such an operation makes a new number instead, as in eager, and its line is kept.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from exportlint.trial.protocol.frames import Frame, frame_at, innermost_user_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


_IN_PLACE = re.compile(r"[a-z]\w*[a-z]_")
_ASKING = frozenset({"size", "numel", "nelement"})


class SizesKept(TorchFunctionMode):  # type: ignore[misc]  # torch leaves it untyped
    """`only`: the one place at which an operation makes a new number; None: everywhere. `places`: where one did."""

    def __init__(self, only: tuple[str, int] | None = None) -> None:
        super().__init__()
        self.only = only
        self.places: dict[tuple[str, int], Frame] = {}
        self._sizes: dict[int, torch.Tensor] = {}  # holds them, so that no id is given twice

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", "")
        if _IN_PLACE.fullmatch(name) and args and self._is_size(args[0]):  # `n += 2` calls `add_`
            plain = getattr(torch.Tensor, name.removesuffix("_"), None)
            frame = innermost_user_frame(sys._getframe(1))  # noqa: SLF001 - what inspect.currentframe() does
            if plain is not None and frame is not None:
                place = frame.f_code.co_filename, frame.f_lineno
                if self.only in (None, place):
                    self.places[place] = frame_at(*place, frame.f_code.co_name)
                    func = plain
        made = func(*args, **(kwargs or {}))
        tensors = [one for one in args if isinstance(one, torch.Tensor)]
        of_sizes = bool(tensors) and all(map(self._is_size, tensors))
        if isinstance(made, torch.Size) or name in _ASKING or of_sizes:
            self._keep(made)
        return made

    def _is_size(self, value: Any) -> bool:
        return id(value) in self._sizes

    def _keep(self, made: Any) -> None:
        for one in _tensors(made):
            if not one.dim():
                self._sizes[id(one)] = one


def _tensors(made: Any) -> Iterator[torch.Tensor]:
    if isinstance(made, torch.Tensor):
        yield made
    elif isinstance(made, tuple):
        yield from (one for one in made if isinstance(one, torch.Tensor))
