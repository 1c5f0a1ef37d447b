"""Export a target once, as every stage does it."""

from __future__ import annotations

import contextlib
import os
import random
import warnings
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.loading.module_wrapper import Wrapped
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.protocol.frames import Frame, is_user_path
from exportlint.trial.protocol.observation import Observation, of_exception
from exportlint.trial.protocol.outcomes import SKIPPED, STRICT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.protocol.target import Target


@dataclass(frozen=True)
class Exported:
    """What an export gave: the model that was traced (None where a fixture has its own export call), the program, and
    what torch decided about sizes where that was recorded."""

    model: Any
    program: Any
    sizes: Any = None

    @property
    def is_program(self) -> bool:
        return isinstance(self.program, torch.export.ExportedProgram)

    def module(self) -> Callable[..., Any]:
        """What a user would call."""
        made: Callable[..., Any] = self.program.module() if self.is_program else self.program
        return made


def export(loaded: Loaded, mode: str, number: int = 0) -> Exported:
    """Export a fresh model in the mode; raises what torch raises. `number` seeds the randomness during the trace."""
    strict = mode == STRICT
    if loaded.export:
        # It makes the model as well, whose weights must be the reference's; only Python's numbers may differ.
        seed(0)
        random.seed(number)
        return Exported(None, loaded.export(strict))
    model = loaded.model()
    return Exported(model, _program(loaded, model, number, strict=strict))


def refusal_without_wrapper(loaded: Loaded, mode: str) -> Observation | None:
    """Torch's refusal of a method or a function without the module that was put around it; None for a module."""
    model = None if loaded.export else loaded.model()
    if isinstance(model, Wrapped):
        try:
            _program(loaded, model.bare, 0, strict=mode == STRICT)
        except Exception as exc:  # noqa: BLE001 - whatever torch raises here is the answer
            return _at_call(loaded.target, of_exception(exc))
    return None


def _at_call(target: Target, seen: Observation) -> Observation:
    """Where the target stands, which for one of a script is the call that torch refuses."""
    if target.path is None or target.line is None:
        return seen
    path = os.path.abspath(target.path)  # noqa: PTH100 - no links resolved: paths stay as the user wrote them
    return replace(seen, user=Frame(path, target.line, "", ""))


def _program(loaded: Loaded, model: Any, number: int, *, strict: bool) -> Any:
    args, kwargs = inputs_of(loaded, 0)
    shapes = loaded.dynamic_shapes()
    seed(number)
    return torch.export.export(model, args, kwargs or None, dynamic_shapes=shapes, strict=strict)


@contextlib.contextmanager
def warnings_kept() -> Iterator[list[warnings.WarningMessage]]:
    """Every warning raised inside, none printed."""
    with warnings.catch_warnings(record=True) as kept:
        warnings.simplefilter("always")
        yield kept


def warning_observations(kept: Sequence[warnings.WarningMessage]) -> Iterator[Observation]:
    """One observation for each different warning."""
    seen: set[tuple[str, str, int]] = set()
    for item in kept:
        text, category = str(item.message), item.category
        key = (text, item.filename, item.lineno)
        if key in seen:
            continue
        seen.add(key)
        name = category.__name__ if category.__module__ == "builtins" else f"{category.__module__}.{category.__name__}"
        frame = Frame(item.filename, item.lineno, "", "")
        details = {"user": is_user_path(item.filename)}
        yield Observation("warning", text[:5000], name, details=details).at([frame])


# Make stages of functions that go on from a program, which may have been exported before them or not at all.


def from_program(run: Callable[[StageRequest, Any], StageAnswer]) -> Callable[[StageRequest], StageAnswer]:
    """The stage that is given the ExportedProgram too: that of the stage it follows, else one of its own."""

    @wraps(run)
    def with_program(request: StageRequest) -> StageAnswer:
        exported = request.exported or export(request.loaded, request.mode)
        if not exported.is_program:
            return StageAnswer(SKIPPED, "the target's own export call gives no ExportedProgram")
        return run(replace(request, exported=exported), exported.program)

    return with_program
