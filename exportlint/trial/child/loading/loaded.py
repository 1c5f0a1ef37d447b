"""A target in this process: makers of fresh models and inputs.

Values are made anew for every use: a forward that writes to its inputs or to itself must not reach the next run.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from exportlint.trial.child.loading.as_first import AsFirst
from exportlint.trial.child.loading.module_wrapper import wrapped
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.protocol.target import Target, TargetError

Make = Callable[[], Any]


@dataclass(frozen=True)
class Loaded:
    """Makers of fresh values. `export(strict)`, `reference` and `observe` only where a fixture class defines them.

    other_args    further inputs that the same program must take, one set or several
    code          an import, and expressions of the model, args and kwargs, where a zoo gives them for what it made
    call_options  what else the call of a script that handed the model over was given
    """

    target: Target
    model: Make
    args: Callable[[], tuple[Any, ...]]
    kwargs: Callable[[], dict[str, Any]]
    dynamic_shapes: Make
    other_args: Callable[[], list[tuple[Any, ...]]] | None = None
    export: Callable[[bool], Any] | None = None
    reference: Make | None = None
    observe: Make | None = None
    code: tuple[str, str, str, str] | None = None
    call_options: Mapping[str, Any] = field(default_factory=dict)

    def eager(self) -> Any:
        """What the exported program is compared with."""
        return self.reference() if self.reference else self.model()


def of_values(target: Target, model: Any, args: Any, kwargs: dict[str, Any], shapes: Any) -> Loaded:
    """A target whose parts live in this process already."""
    given, fresh = _detached((args, kwargs)), AsFirst(model)
    return Loaded(
        target,
        model=lambda: wrapped(fresh()),
        args=lambda: as_args("args", copied(given)[0]),
        kwargs=lambda: copied(given)[1],
        dynamic_shapes=lambda: shapes,
    )


def _detached(value: Any) -> Any:
    """Inputs that another layer computed carry that layer's graph, and such a tensor cannot be copied."""

    def alone(leaf: Any) -> Any:
        computed = isinstance(leaf, torch.Tensor) and leaf.requires_grad and not leaf.is_leaf
        return leaf.detach().requires_grad_() if computed else leaf

    return pytree.tree_map(alone, value)


def copied(value: Any) -> Any:
    """A deep copy that keeps aliases between tensors; the value itself where torch refuses to copy it."""
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - any class of the target may refuse, in any way
        return value


def as_args(part: str, value: Any) -> tuple[Any, ...]:
    """A tuple as it is, a lone tensor wrapped; anything else is a mistake worth a sentence."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, torch.Tensor):
        return (value,)
    raise TargetError(f"{part} must give a tuple of arguments, it gave {type(value).__name__}")


def as_several(part: str, value: Any) -> list[tuple[Any, ...]]:
    """Sets of arguments: a list of tuples as it is, anything else as one of them."""
    if isinstance(value, list) and value and all(isinstance(one, tuple) for one in value):
        return value
    if isinstance(value, list):
        raise TargetError(f"{part} must give a tuple of arguments, or a list of such tuples; it gave another list")
    return [as_args(part, value)]


def as_kwargs(part: str, value: Any) -> dict[str, Any]:
    """A dict, or None for none."""
    if value is None or isinstance(value, dict):
        return value or {}
    raise TargetError(f"{part} must give a dict, it gave {type(value).__name__}")
