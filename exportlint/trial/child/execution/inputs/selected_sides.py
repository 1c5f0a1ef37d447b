"""Which sides of selections that are made in data (`torch.where`, `masked_fill`, `torch.cond`) calls of a model take.

An `if` shows by its lines which way a call goes; a selection computes both ways, and its condition says which is taken.
"""

from __future__ import annotations

import contextlib
import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from exportlint.trial.child.execution.plain_operators import plain_operators
from exportlint.trial.child.execution.side_effects import recorded_effects
from exportlint.trial.child.execution.time_limit import in_time
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.protocol.frames import innermost_user_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded

# By the name of the function or method: the place of the condition among the arguments, and its keyword.
_CONDITIONS = {"where": (0, "condition"), "masked_fill": (1, "mask"), "masked_fill_": (1, "mask")}
# `torch.cond` runs as plain Python here: in eager it would be compiled, and no mode sees into that.
_OF_PLAIN_OPERATORS = sys.modules[plain_operators.__module__].__file__


class _Selections(TorchFunctionMode):  # type: ignore[misc]  # torch leaves it untyped
    """`seen`: path, line and place in the bytecode, for a line may have several -> which values the condition had."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[tuple[str, int, int], set[bool]] = defaultdict(set)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name, caller = getattr(func, "__name__", ""), sys._getframe(1)  # noqa: SLF001 - as inspect.currentframe()
        given = None
        if name in _CONDITIONS:
            place, keyword = _CONDITIONS[name]
            place += func is torch.Tensor.where  # `x.where(condition, other)`
            given = args[place] if len(args) > place else (kwargs or {}).get(keyword)
        elif name == "__bool__" and caller.f_code.co_filename == _OF_PLAIN_OPERATORS:
            given = args[0]
        frame = innermost_user_frame(caller) if isinstance(given, torch.Tensor) else None
        if frame is not None:
            self.seen[frame.f_code.co_filename, frame.f_lineno, frame.f_lasti] |= _values(given)
        return func(*args, **(kwargs or {}))


def _values(condition: torch.Tensor) -> set[bool]:
    held = condition != 0
    return {value for value, some in ((True, held.any()), (False, (~held).any())) if bool(some)}


def selected_sides(loaded: Loaded, draws: Iterable[Inputs], seconds: float) -> list[tuple[str, int, bool, bool]]:
    """Of each selection its line: was the condition true somewhere in some call, and false somewhere?"""
    record = _Selections()
    for args, kwargs in draws:
        model = loaded.eager()
        given, named = copied((args, kwargs))
        seed(0)
        # What a call raises, the comparison says; what it selected until then counts.
        with recorded_effects(), contextlib.suppress(BaseException), in_time(seconds), plain_operators(), record:
            model(*given, **named)
    return sorted((path, line, True in values, False in values) for (path, line, _), values in record.seen.items())
