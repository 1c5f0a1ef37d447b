"""The first of several ways to build and call a model that runs, and the code of it. Runs in the child."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import torch

Way = TypeVar("Way")
Inputs = tuple[tuple[Any, ...], dict[str, Any]]
Code = tuple[str, str]  # an import, and the expression that makes the model
_MOST_IN_LINE = 4
Built = tuple[Any, tuple[Any, ...], dict[str, Any], Code]


def first_that_runs(
    ways: Iterable[Way], make: Callable[[Way], Any], inputs: Callable[[Any], Iterable[Inputs]]
) -> tuple[Way, Any, tuple[Any, ...], dict[str, Any]]:
    """The way, its model and inputs that it accepts. RuntimeError with the first reason when there is none."""
    why: Exception | None = None
    for way in ways:
        try:
            model = make(way).eval()
            for args, kwargs in inputs(model):
                try:
                    with torch.no_grad():
                        model(*args, **kwargs)
                except Exception as exc:  # noqa: BLE001 - other inputs may do
                    why = why or exc
                else:
                    return way, model, args, kwargs
        except Exception as exc:  # noqa: BLE001 - another way may do
            why = why or exc
    raise RuntimeError(f"no way to build and call it was found ({type(why).__name__}: {str(why)[:200]})")


def call(maker: str, options: Mapping[str, Any], *given: str) -> str:
    """The call as code; many options stand one on a line."""
    parts = [*map(repr, given), *(f"{name}={value!r}" for name, value in options.items())]
    between = f",\n{' ' * 8}" if len(parts) > _MOST_IN_LINE else ", "
    return f"{maker}({between.join(parts)})"
